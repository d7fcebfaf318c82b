// SPDX-License-Identifier: Apache-2.0
#include "simd/integer_vectors.h"

#include <algorithm>
#include <limits>

#include "integer_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/integer_vectors.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Lanes that int32 can represent after truncation.
template <class D>
HWY_INLINE hn::Mask<D> fits_int32(D d, hn::Vec<D> v) {
  return hn::And(hn::Ge(v, hn::Set(d, -0x1p31F)), hn::Lt(v, hn::Set(d, 0x1p31F)));
}

void to_bytes(const float* x, uint8_t* y, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    const auto low = hn::And(hn::ConvertTo(di, v), hn::Set(di, 0xFF));
    const auto kept = hn::IfThenElseZero(hn::RebindMask(di, fits_int32(d, v)), low);
    hn::StoreU(hn::DemoteTo(d8, kept), d8, y + i);
  }
  for (; i < count; ++i) y[i] = to_integer<uint8_t>(x[i]);
}

void to_int64(const float* x, int64_t* y, int64_t count) {
  const hn::ScalableTag<int64_t> d;
  const hn::Rebind<int32_t, decltype(d)> d32;
  const hn::Rebind<float, decltype(d)> df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(df, x + i);
    if (HWY_LIKELY(hn::AllTrue(df, fits_int32(df, v)))) {
      hn::StoreU(hn::PromoteTo(d, hn::ConvertTo(d32, v)), d, y + i);
    } else {
      for (int64_t k = i; k < i + lanes; ++k) y[k] = to_integer<int64_t>(x[k]);
    }
  }
  for (; i < count; ++i) y[i] = to_integer<int64_t>(x[i]);
}

/// The quotient of two int32 values, computed in f64 and truncated, is exact.
void divide(const int32_t* a, int64_t a_stride, const int32_t* b, int64_t b_stride, int32_t* y,
            int64_t count) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<int32_t, decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(di);
  const auto one = hn::Set(di, 1);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto u = a_stride ? hn::LoadU(di, a + i) : hn::Set(di, *a);
    const auto v = b_stride ? hn::LoadU(di, b + i) : hn::Set(di, *b);
    const auto by_zero = hn::Eq(v, zero);
    const auto divisor = hn::IfThenElse(by_zero, one, v);
    const auto quotient = hn::Div(hn::PromoteTo(d, u), hn::PromoteTo(d, divisor));
    const auto whole =
        hn::IfThenElse(hn::Eq(v, hn::Sub(zero, one)), hn::Sub(zero, u), hn::DemoteTo(di, quotient));
    hn::StoreU(hn::IfThenZeroElse(by_zero, whole), di, y + i);
  }
  for (; i < count; ++i) y[i] = wrap_div(a[i * a_stride], b[i * b_stride]);
}

template <class T, class Join, class Less>
HWY_INLINE T extreme(const T* x, int64_t count, Join join, Less stands_before) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count < 2 * lanes) {
    T best = *x;
    for (int64_t i = 1; i < count; ++i) best = stands_before(x[i], best) ? x[i] : best;
    return best;
  }
  auto even = hn::LoadU(d, x);
  auto odd = hn::LoadU(d, x + lanes);
  for (int64_t i = 2 * lanes; i + 2 * lanes <= count; i += 2 * lanes) {
    even = join(even, hn::LoadU(d, x + i));
    odd = join(odd, hn::LoadU(d, x + i + lanes));
  }
  // The remaining elements, overlapping those already done.
  even = join(even, hn::LoadU(d, x + count - 2 * lanes));
  odd = join(odd, hn::LoadU(d, x + count - lanes));
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(join(even, odd), d, buffer);
  T best = buffer[0];
  for (int64_t i = 1; i < lanes; ++i) best = stands_before(buffer[i], best) ? buffer[i] : best;
  return best;
}

template <class T>
HWY_INLINE T largest_of(const T* x, int64_t count) {
  return extreme(
      x, count, [](auto a, auto b) HWY_ATTR { return hn::Max(a, b); },
      [](T a, T b) { return a > b; });
}
template <class T>
HWY_INLINE T smallest_of(const T* x, int64_t count) {
  return extreme(
      x, count, [](auto a, auto b) HWY_ATTR { return hn::Min(a, b); },
      [](T a, T b) { return a < b; });
}
int8_t largest_i8(const int8_t* x, int64_t count) { return largest_of(x, count); }
int8_t smallest_i8(const int8_t* x, int64_t count) { return smallest_of(x, count); }
uint8_t largest_u8(const uint8_t* x, int64_t count) { return largest_of(x, count); }
uint8_t smallest_u8(const uint8_t* x, int64_t count) { return smallest_of(x, count); }

int64_t first_above(const int32_t* x, int64_t begin, int64_t end, int32_t bound) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto limit = hn::Set(d, bound);
  int64_t i = begin;
  for (; i + 4 * lanes <= end; i += 4 * lanes) {
    const auto a = hn::Max(hn::LoadU(d, x + i), hn::LoadU(d, x + i + lanes));
    const auto b = hn::Max(hn::LoadU(d, x + i + 2 * lanes), hn::LoadU(d, x + i + 3 * lanes));
    if (!hn::AllFalse(d, hn::Gt(hn::Max(a, b), limit))) break;
  }
  for (; i + lanes <= end; i += lanes) {
    const intptr_t found = hn::FindFirstTrue(d, hn::Gt(hn::LoadU(d, x + i), limit));
    if (found >= 0) return i + found;
  }
  while (i < end && x[i] <= bound) ++i;
  return i;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

HWY_EXPORT(to_bytes);
HWY_EXPORT(to_int64);
HWY_EXPORT(divide);
HWY_EXPORT(largest_i8);
HWY_EXPORT(smallest_i8);
HWY_EXPORT(largest_u8);
HWY_EXPORT(smallest_u8);
HWY_EXPORT(first_above);

void simd::to_bytes(const float* x, uint8_t* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(to_bytes)(x, y, count);
}
void simd::to_int64(const float* x, int64_t* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(to_int64)(x, y, count);
}
void simd::divide(const int32_t* a, int64_t a_stride, const int32_t* b, int64_t b_stride,
                  int32_t* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(divide)(a, a_stride, b, b_stride, y, count);
}
int8_t simd::largest(const int8_t* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(largest_i8)(x, count);
}
int8_t simd::smallest(const int8_t* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(smallest_i8)(x, count);
}
uint8_t simd::largest(const uint8_t* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(largest_u8)(x, count);
}
uint8_t simd::smallest(const uint8_t* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(smallest_u8)(x, count);
}
int64_t simd::first_above(const int32_t* x, int64_t begin, int64_t end, int32_t bound) {
  return HWY_DYNAMIC_DISPATCH(first_above)(x, begin, end, bound);
}

}  // namespace gantry::cpu
#endif  // HWY_ONCE
