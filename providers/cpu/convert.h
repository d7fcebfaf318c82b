// SPDX-License-Identifier: Apache-2.0
// Converts between element types and the type in which a kernel computes, Compute<T>: float for
// 16-bit floats, usually T itself. Any thread.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "dispatch.h"
#include "elements.h"
#include "simd/vector_math.h"
#include "types.h"

namespace gantry::cpu {

/// Converts `count` elements of T, at any alignment, to their compute type.
template <class T>
void widen(const void* source, Compute<T>* target, int64_t count) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    if (count > 0) std::memcpy(target, source, static_cast<size_t>(count) * sizeof(T));
  } else {
    if constexpr (std::is_same_v<T, Float16>) {
      if (reinterpret_cast<uintptr_t>(source) % alignof(Float16) == 0)
        return simd::widen(static_cast<const uint16_t*>(source), target, count);
    }
    const auto* bytes = static_cast<const char*>(source);
    for (int64_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, bytes + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
      target[i] = static_cast<Compute<T>>(element);
    }
  }
}

/// Rounds `count` elements from their compute type to T.
template <class T>
void narrow(const Compute<T>* source, T* target, int64_t count) {
  if constexpr (std::is_same_v<T, Float16>) {
    simd::narrow(source, &target->bits, count);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i] = static_cast<T>(source[i]);
  }
}

/// Least number of elements that a thread converts.
inline constexpr int64_t kConvertGrain = 16384;

/// `count` elements of T in their compute type: the data itself if that is T, otherwise a copy in
/// scratch memory. Valid until run() returns.
template <class T>
const Compute<T>* widened(sdk::Call& call, const void* data, int64_t count) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return static_cast<const T*>(data);
  } else {
    auto* target = call.scratch<Compute<T>>(count);
    const auto* source = static_cast<const char*>(data);
    call.parallel_for(count, kConvertGrain, [&](int64_t begin, int64_t end) {
      widen<T>(source + begin * static_cast<int64_t>(sizeof(T)), target + begin, end - begin);
    });
    return target;
  }
}
template <class T>
const Compute<T>* widened(sdk::Call& call, const gantry_tensor& tensor) {
  return widened<T>(call, tensor.data, sdk::Shape(tensor).element_count());
}

/// Memory for a result in the compute type of an output of type T: the output itself, or scratch
/// memory. The kernel writes it, then calls narrow() with both.
template <class T>
Compute<T>* wide_output(sdk::Call& call, gantry_tensor& output) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return static_cast<T*>(output.data);
  } else {
    return call.scratch<Compute<T>>(sdk::Shape(output).element_count());
  }
}
/// Converts a result of wide_output() to the output; does nothing if it was computed in place.
template <class T>
void narrow(sdk::Call& call, const Compute<T>* result, gantry_tensor& output) {
  if constexpr (!std::is_same_v<T, Compute<T>>) {
    auto* target = static_cast<T*>(output.data);
    call.parallel_for(sdk::Shape(output).element_count(), kConvertGrain,
                      [&](int64_t begin, int64_t end) {
                        narrow<T>(result + begin, target + begin, end - begin);
                      });
  }
}

/// The elements of an input converted to C, in scratch memory. Throws UNSUPPORTED for an element
/// type outside `Types`.
template <class Types, class C>
C* read_as(sdk::Call& call, int slot) {
  const gantry_tensor& tensor = call.input(slot);
  const int64_t count = sdk::Shape(tensor).element_count();
  const std::byte* units = read_units(call, slot);
  auto* target = call.scratch<C>(count);
  dispatch<Types>(tensor.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const auto* source = reinterpret_cast<const T*>(units);
    call.parallel_for(count, 32768, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        target[i] = static_cast<C>(static_cast<Compute<T>>(source[i]));
    });
  });
  return target;
}

}  // namespace gantry::cpu
