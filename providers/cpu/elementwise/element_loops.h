// SPDX-License-Identifier: Apache-2.0
// Loops of element-wise operators over dense arrays. An operator is a functor with a templated
// operator(), called with Compute<T>. It may also define its own loops over arrays: `map` for one
// input, possibly to another type, and `zip` for two. Any thread.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "convert.h"
#include "types.h"

namespace gantry::cpu {

/// Least number of elements for another thread, some 5 µs of work: for plain arithmetic, for SIMD
/// functions, and for libm calls.
inline constexpr int64_t kPlainGrain = 32768;
inline constexpr int64_t kVectorGrain = 8192;
inline constexpr int64_t kLibmGrain = 1024;

/// Op defines its own loop from T to T.
template <class Op, class T = float>
concept HasMap = requires(const Op& op, const T* x, T* y, int64_t n) {
  op.map(x, y, n);
};
/// Op defines its own loop over two inputs of T, with strides of 0 or 1.
template <class Op, class T = float>
concept HasZip = requires(const Op& op, const T* x, T* y, int64_t n) {
  op.zip(x, n, x, n, y, n);
};

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// Grain of an operator on elements of type T. Operators without a loop of their own define `kSlow`
/// if they call libm.
template <class Op, class T>
constexpr int64_t grain_of() {
  if constexpr (HasMap<Op, T> || (HasMap<Op> && kIsHalf<T>)) return kVectorGrain;
  if constexpr (requires { Op::kSlow; }) return kLibmGrain;
  return kPlainGrain;
}

/// Elements of 16-bit floats that are converted at a time.
inline constexpr int64_t kHalfBlock = 512;

/// y[i] = op(x[i]); y may be x.
template <class Op, class T, class U>
void map_elements(const Op& op, const T* x, U* y, int64_t count) {
  if constexpr (requires { op.map(x, y, count); }) {
    op.map(x, y, count);
  } else if constexpr (kIsHalf<T>) {
    float block[kHalfBlock];
    for (int64_t begin = 0; begin < count; begin += kHalfBlock) {
      const int64_t n = std::min(kHalfBlock, count - begin);
      widen<T>(x + begin, block, n);
      if constexpr (kIsHalf<U>) {
        map_elements(op, block, block, n);
        narrow<U>(block, y + begin, n);
      } else {
        map_elements(op, block, y + begin, n);
      }
    }
  } else {
    // A copy: a uint8_t output may alias the members of `op`, which would prevent vectorization.
    const Op own = op;
    // If y is x, each iteration still touches its own element only, so the loop vectorizes.
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<U>(own(static_cast<Compute<T>>(x[i])));
  }
}

template <class Op, class A, class B, class U>
void zip_elements(const Op& op, const A* a, int64_t a_stride, const B* b, int64_t b_stride, U* y,
                  int64_t count);

/// zip_elements() of 16-bit floats, in blocks converted to f32.
template <class Op, class T, class U>
void zip_halves(const Op& op, const T* a, int64_t a_stride, const T* b, int64_t b_stride, U* y,
                int64_t count) {
  float a_block[kHalfBlock];
  float b_block[kHalfBlock];
  for (int64_t begin = 0; begin < count; begin += kHalfBlock) {
    const int64_t n = std::min(kHalfBlock, count - begin);
    widen<T>(a + begin * a_stride, a_block, a_stride ? n : 1);
    widen<T>(b + begin * b_stride, b_block, b_stride ? n : 1);
    if constexpr (kIsHalf<U>) {
      float y_block[kHalfBlock];
      zip_elements(op, a_block, a_stride, b_block, b_stride, y_block, n);
      narrow<U>(y_block, y + begin, n);
    } else {
      zip_elements(op, a_block, a_stride, b_block, b_stride, y + begin, n);
    }
  }
}

/// y[i] = op(a[i * a_stride], b[i * b_stride]), strides 0 or 1; y may be either input.
template <class Op, class A, class B, class U>
void zip_elements(const Op& op, const A* a, int64_t a_stride, const B* b, int64_t b_stride, U* y,
                  int64_t count) {
  if constexpr (std::is_same_v<A, B> && std::is_same_v<A, U> && HasZip<Op, A>) {
    // Short rows cost more to set up than to compute.
    if (count >= 8) return op.zip(a, a_stride, b, b_stride, y, count);
  }
  if constexpr (kIsHalf<A> && std::is_same_v<A, B>) {
    if (count >= 8) return zip_halves(op, a, a_stride, b, b_stride, y, count);
  }
  using CA = Compute<A>;
  using CB = Compute<B>;
  if (a_stride && b_stride) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i)
      y[i] = static_cast<U>(op(static_cast<CA>(a[i]), static_cast<CB>(b[i])));
  } else if (a_stride) {
    const auto scalar = static_cast<CB>(*b);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<U>(op(static_cast<CA>(a[i]), scalar));
  } else if (b_stride) {
    const auto scalar = static_cast<CA>(*a);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<U>(op(scalar, static_cast<CB>(b[i])));
  } else {
    std::fill(y, y + count, static_cast<U>(op(static_cast<CA>(*a), static_cast<CB>(*b))));
  }
}

}  // namespace gantry::cpu
