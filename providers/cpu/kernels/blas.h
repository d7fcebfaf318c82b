// SPDX-License-Identifier: Apache-2.0
// Matrix products: f32 and f64 by OpenBLAS (the build without threads of its own), integers by a
// loop of ours, and how a product is split over the run's threads. Matrices are row-major and may
// start at any byte. Any thread.
#pragma once

#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/vector_math.h"
#include "types.h"

namespace gantry::cpu {

/// c[m, n] = alpha op(a)[m, k] op(b)[k, n] + beta c; op transposes if asked. `ld*` are distances
/// between rows.
template <class T>
struct Product {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  T alpha = T{1};
  const T* a = nullptr;
  int64_t lda = 0;
  const T* b = nullptr;
  int64_t ldb = 0;
  T beta = T{0};
  T* c = nullptr;
  int64_t ldc = 0;

  /// The part that computes rows [begin, end) of c.
  [[nodiscard]] Product rows(int64_t begin, int64_t end) const {
    Product part = *this;
    part.m = end - begin;
    part.a = a + (transpose_a ? begin : begin * lda);
    part.c = c + begin * ldc;
    return part;
  }
  /// The part that computes columns [begin, end) of c.
  [[nodiscard]] Product columns(int64_t begin, int64_t end) const {
    Product part = *this;
    part.n = end - begin;
    part.b = b + (transpose_b ? begin * ldb : begin);
    part.c = c + begin;
    return part;
  }
};

/// Plain product of dense matrices.
template <class T>
Product<T> dense_product(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c) {
  Product<T> product;
  product.m = m;
  product.n = n;
  product.k = k;
  product.a = a;
  product.lda = std::max<int64_t>(k, 1);
  product.b = b;
  product.ldb = std::max<int64_t>(n, 1);
  product.c = c;
  product.ldc = std::max<int64_t>(n, 1);
  return product;
}

/// On the calling thread. Extents and row distances are below 2^31, see check_product. Throws
/// nothing.
void multiply_serial(const Product<float>& product);
void multiply_serial(const Product<double>& product);
void multiply_serial(const Product<int32_t>& product);
void multiply_serial(const Product<int64_t>& product);
void multiply_serial(const Product<uint32_t>& product);
void multiply_serial(const Product<uint64_t>& product);

/// Throws INVALID_ARGUMENT if an extent is beyond what the library counts with (2^31 - 1).
void check_product(int64_t m, int64_t n, int64_t k, const std::string& label);

/// Multiplications for which a second thread pays: some 10 us of work.
inline constexpr int64_t kProductGrain = int64_t{1} << 20;

/// On the threads of the run, split along the longer of c's axes.
template <class T>
void multiply(sdk::Call& call, const Product<T>& product) {
  if (product.m == 0 || product.n == 0) return;
  const int64_t work = product.m * product.n * std::max<int64_t>(product.k, 1);
  const bool is_vector = product.m == 1 || product.n == 1;
  // A product with a vector is bound by memory, so that each multiplication takes longer.
  const int64_t grain = is_vector ? kProductGrain / 8 : kProductGrain;
  const int64_t parts = work < 2 * grain ? 1 : std::min<int64_t>(call.thread_count(), work / grain);
  if (parts <= 1) return multiply_serial(product);
  // Parts are multiples of the library's widest register block where there is room.
  const bool by_rows = product.m > product.n;
  const int64_t extent = by_rows ? product.m : product.n;
  const int64_t block = extent >= parts * 32 ? 16 : 1;
  const int64_t blocks = (extent + block - 1) / block;
  call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    const int64_t first = std::min(extent, blocks * begin / parts * block);
    const int64_t last = std::min(extent, blocks * end / parts * block);
    if (first < last)
      multiply_serial(by_rows ? product.rows(first, last) : product.columns(first, last));
  });
}

/// Copies `count` elements of T, which may start at any byte, to their compute type.
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

/// Least number of 16-bit elements that a thread converts.
inline constexpr int64_t kConvertGrain = 16384;

/// The elements of an input in their compute type: the input itself, or a copy in scratch memory.
template <class T>
const Compute<T>* widened(sdk::Call& call, const gantry_tensor& tensor) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return static_cast<const T*>(tensor.data);
  } else {
    const int64_t count = sdk::Shape(tensor).element_count();
    auto* target = call.scratch<Compute<T>>(count);
    const auto* source = static_cast<const char*>(tensor.data);
    call.parallel_for(count, kConvertGrain, [&](int64_t begin, int64_t end) {
      widen<T>(source + begin * static_cast<int64_t>(sizeof(T)), target + begin, end - begin);
    });
    return target;
  }
}

/// Where a result is computed before it is an output of type T: the output itself, or scratch
/// memory; `narrow` ends the work.
template <class T>
Compute<T>* wide_output(sdk::Call& call, gantry_tensor& output) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return static_cast<T*>(output.data);
  } else {
    return call.scratch<Compute<T>>(sdk::Shape(output).element_count());
  }
}
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

}  // namespace gantry::cpu
