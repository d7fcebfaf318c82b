// SPDX-License-Identifier: Apache-2.0
#include "quantization/quantize_math.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantization/quantize_math.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using QuantTag = hn::ScalableTag<float>;
using QuantVec = hn::Vec<QuantTag>;

constexpr size_t kMostLanes = HWY_MAX_BYTES / sizeof(float);

/// Quotients are clamped to this, beyond which the type saturates. Plus an 8-bit zero point it
/// stays below 2^15: from there to 2^15 + 255, Highway 1.0's DemoteTo drops the topmost bit before
/// it saturates.
template <class U>
constexpr float kSaturated = sizeof(U) == 1 ? 16384.0F : 2097152.0F;

/// A vector of quotients, rounded, with the zero point added, and saturated.
template <class U>
HWY_INLINE auto rounded(QuantVec quotient, QuantVec zero) {
  const QuantTag d;
  const hn::RebindToSigned<QuantTag> di;
  // The comparison is written so that NaN fails it.
  const QuantVec limit = hn::Set(d, kSaturated<U>);
  const QuantVec above = hn::IfThenElse(hn::Gt(quotient, hn::Neg(limit)), quotient, hn::Neg(limit));
  const auto whole = hn::NearestInt(hn::Min(above, limit));
  return hn::DemoteTo(hn::Rebind<U, QuantTag>(), hn::Add(whole, hn::ConvertTo(di, zero)));
}

/// x / scale by multiplication, in a fraction of the time of a division. From the nearest
/// reciprocal, a second correction gives the correctly rounded quotient (Markstein) if
/// may_multiply().
HWY_INLINE QuantVec quotient(QuantVec x, QuantVec scale, QuantVec reciprocal) {
  const QuantVec first = hn::Mul(x, reciprocal);
  const QuantVec second = hn::MulAdd(hn::NegMulAdd(first, scale, x), reciprocal, first);
  return hn::MulAdd(hn::NegMulAdd(second, scale, x), reciprocal, second);
}
/// Nearest integers, for values in the range of int32.
HWY_INLINE auto nearest_of(QuantVec x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  return hn::Vec<hn::RebindToSigned<QuantTag>>{_mm512_cvtps_epi32(x.raw)};
#else
  return hn::NearestInt(x);
#endif
}
/// True if remainders of x by this scale are exact wherever the quotient is not rounded to zero.
HWY_INLINE bool may_multiply(float scale) {
#if !HWY_NATIVE_FMA
  (void)scale;  // without FMA products are rounded before they are added
  return false;
#else
  constexpr uint32_t kMantissa = 0x7FFFFF;
  uint32_t bits = 0;
  std::memcpy(&bits, &scale, sizeof(bits));
  return scale > 0x1p-60F && scale < 0x1p60F && (bits & kMantissa) != kMantissa;
#endif
}

/// One scale and one zero point for all elements.
template <class U>
HWY_INLINE void quantize_by_products(const float* x, float scale, float zero, U* y, int64_t count) {
  const QuantTag d;
  const hn::Rebind<U, QuantTag> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const QuantVec all_scale = hn::Set(d, scale);
  const QuantVec reciprocal = hn::Set(d, 1.0F / scale);
  const auto zeros = hn::Set(hn::RebindToSigned<QuantTag>(), static_cast<int32_t>(zero));
  // Clamped, since these saturate anyway and an infinity has no remainder. NaN fails the
  // comparison.
  const QuantVec high = hn::Set(d, scale * kSaturated<U>);
  const QuantVec low = hn::Neg(high);
  const auto at = [&](int64_t i) HWY_ATTR {
    const QuantVec v = hn::LoadU(d, x + i);
    const QuantVec within = hn::Min(hn::IfThenElse(hn::Gt(v, low), v, low), high);
    const auto whole = nearest_of(quotient(within, all_scale, reciprocal));
    hn::StoreU(hn::DemoteTo(du, hn::Add(whole, zeros)), du, y + i);
  };
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) at(i);
  if (i < count) at(count - lanes);  // overlaps what is done: the same values once more
}

/// kEach: a scale and a zero point for each element; otherwise the first of each for all.
template <bool kEach, bool kDivides, class U>
HWY_INLINE void quantize_loop(const float* x, const float* scale, const float* zero, U* y,
                              int64_t count) {
  if constexpr (kDivides && !kEach) {
    if (may_multiply(*scale)) return quantize_by_products(x, *scale, *zero, y, count);
  }
  const QuantTag d;
  const hn::Rebind<U, QuantTag> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const QuantVec one_scale = hn::Set(d, kDivides ? *scale : 1.0F);
  const QuantVec one_zero = hn::Set(d, *zero);
  const auto at = [&](int64_t i) HWY_ATTR {
    QuantVec v = hn::LoadU(d, x + i);
    if constexpr (kDivides) v = hn::Div(v, kEach ? hn::LoadU(d, scale + i) : one_scale);
    hn::StoreU(rounded<U>(v, kEach ? hn::LoadU(d, zero + i) : one_zero), du, y + i);
  };
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) at(i);
  if (i < count) at(count - lanes);  // overlaps what is done: the same values once more
}

/// to[i] = from[i / share]
HWY_INLINE void spread(const float* from, int64_t share, float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += share)
    std::fill_n(to + i, std::min(share, count - i), *from++);
}

/// Scales and zero points; null scales: there are none.
struct Levels {
  const float* scale;
  const float* zero;

  [[nodiscard]] Levels at(int64_t i) const { return {scale ? scale + i : nullptr, zero + i}; }
};

/// Runs `loop` on fewer elements than a vector has, through buffers of whole vectors.
template <class Loop, class In, class Out>
HWY_INLINE void through_buffers(const Loop& loop, const In* x, Levels levels, int64_t share, Out* y,
                                int64_t count) {
  In x_buffer[kMostLanes] = {};
  float scale_buffer[kMostLanes];
  float zero_buffer[kMostLanes];
  Out y_buffer[kMostLanes];
  std::copy_n(x, count, x_buffer);
  std::fill_n(scale_buffer, kMostLanes, 1.0F);
  std::fill_n(zero_buffer, kMostLanes, 0.0F);
  if (levels.scale) spread(levels.scale, share, scale_buffer, count);
  spread(levels.zero, share, zero_buffer, count);
  loop(true, x_buffer, Levels{levels.scale ? scale_buffer : nullptr, zero_buffer}, y_buffer,
       static_cast<int64_t>(hn::Lanes(QuantTag())));
  std::copy_n(y_buffer, count, y);
}

/// loop(each, x, levels, y, count) over at least a vector of elements that have a level each, or
/// (`each` false) one for all.
template <class Loop, class In, class Out>
HWY_INLINE void in_shares(const Loop& loop, const In* x, Levels levels, int64_t share, Out* y,
                          int64_t count) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(QuantTag()));
  const auto part = [&](bool each, Levels own, int64_t begin, int64_t size) HWY_ATTR {
    if (size >= lanes) return loop(each, x + begin, own, y + begin, size);
    through_buffers(loop, x + begin, own, each ? 1 : size, y + begin, size);
  };
  if (share == 1) return part(true, levels, 0, count);
  if (share >= lanes) {
    for (int64_t i = 0; i < count; i += std::min(share, count - i), levels = levels.at(1))
      part(false, levels, i, std::min(share, count - i));
    return;
  }
  constexpr int64_t kSpread = 16 * kMostLanes;
  float scales[kSpread];
  float zeros[kSpread];
  const int64_t step = kSpread / share * share;
  for (int64_t i = 0; i < count; i += step, levels = levels.at(step / share)) {
    const int64_t size = std::min(step, count - i);
    if (levels.scale) spread(levels.scale, share, scales, size);
    spread(levels.zero, share, zeros, size);
    part(true, Levels{levels.scale ? scales : nullptr, zeros}, i, size);
  }
}

template <class U>
HWY_INLINE void quantize_any(const float* x, Levels levels, int64_t share, U* y, int64_t count) {
  const auto loop = [](bool each, const float* from, Levels own, U* to, int64_t n) HWY_ATTR {
    if (own.scale) {
      each ? quantize_loop<true, true>(from, own.scale, own.zero, to, n)
           : quantize_loop<false, true>(from, own.scale, own.zero, to, n);
    } else {
      each ? quantize_loop<true, false>(from, own.scale, own.zero, to, n)
           : quantize_loop<false, false>(from, own.scale, own.zero, to, n);
    }
  };
  in_shares(loop, x, levels, share, y, count);
}

template <bool kEach, class T>
HWY_INLINE void dequantize_loop(const T* x, const float* scale, const float* zero, float* y,
                                int64_t count) {
  const QuantTag d;
  const hn::RebindToSigned<QuantTag> di;
  const hn::Rebind<T, QuantTag> dt;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const QuantVec one_scale = hn::Set(d, *scale);
  const QuantVec one_zero = hn::Set(d, *zero);
  const auto at = [&](int64_t i) HWY_ATTR {
    hn::Vec<decltype(di)> whole;
    if constexpr (sizeof(T) == 4) {
      whole = hn::LoadU(di, x + i);
    } else {
      whole = hn::PromoteTo(di, hn::LoadU(dt, x + i));
    }
    const QuantVec v = hn::Sub(hn::ConvertTo(d, whole), kEach ? hn::LoadU(d, zero + i) : one_zero);
    hn::StoreU(hn::Mul(v, kEach ? hn::LoadU(d, scale + i) : one_scale), d, y + i);
  };
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) at(i);
  if (i < count) at(count - lanes);
}

template <class T>
HWY_INLINE void dequantize_any(const T* x, Levels levels, int64_t share, float* y, int64_t count) {
  const auto loop = [](bool each, const T* from, Levels own, float* to, int64_t n) HWY_ATTR {
    each ? dequantize_loop<true>(from, own.scale, own.zero, to, n)
         : dequantize_loop<false>(from, own.scale, own.zero, to, n);
  };
  in_shares(loop, x, levels, share, y, count);
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses
#define GANTRY_QUANTIZE(Name, U)                                                              \
  void Name(const float* x, const float* s, const float* z, int64_t share, U* y, int64_t n) { \
    quantize_any(x, Levels{s, z}, share, y, n);                                               \
  }
// NOLINTEND(bugprone-macro-parentheses)
#define GANTRY_DEQUANTIZE(Name, T)                                                            \
  void Name(const T* x, const float* s, const float* z, int64_t share, float* y, int64_t n) { \
    dequantize_any(x, Levels{s, z}, share, y, n);                                             \
  }
GANTRY_QUANTIZE(to_u8, uint8_t)
GANTRY_QUANTIZE(to_i8, int8_t)
GANTRY_QUANTIZE(to_u16, uint16_t)
GANTRY_QUANTIZE(to_i16, int16_t)
GANTRY_DEQUANTIZE(from_u8, uint8_t)
GANTRY_DEQUANTIZE(from_i8, int8_t)
GANTRY_DEQUANTIZE(from_u16, uint16_t)
GANTRY_DEQUANTIZE(from_i16, int16_t)
GANTRY_DEQUANTIZE(from_i32, int32_t)
#undef GANTRY_QUANTIZE
#undef GANTRY_DEQUANTIZE

void range_with_zero(const float* x, int64_t count, float* least, float* greatest) {
  const QuantTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  QuantVec low[2] = {hn::Zero(d), hn::Zero(d)};
  QuantVec high[2] = {hn::Zero(d), hn::Zero(d)};
  const auto take = [&](int k, int64_t i) HWY_ATTR {
    const QuantVec v = hn::LoadU(d, x + i);
    low[k] = hn::IfThenElse(hn::Lt(v, low[k]), v, low[k]);
    high[k] = hn::IfThenElse(hn::Gt(v, high[k]), v, high[k]);
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    take(0, i);
    take(1, i + lanes);
  }
  for (; i + lanes <= count; i += lanes) take(0, i);
  *least = hn::GetLane(hn::MinOfLanes(d, hn::Min(low[0], low[1])));
  *greatest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(high[0], high[1])));
  for (; i < count; ++i) {
    *least = x[i] < *least ? x[i] : *least;
    *greatest = x[i] > *greatest ? x[i] : *greatest;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses
#define GANTRY_EXPORT(Name, function, In, Out)                                                   \
  HWY_EXPORT(Name);                                                                              \
  void simd::function(const In* x, const float* scale, const float* zero, int64_t share, Out* y, \
                      int64_t count) {                                                           \
    HWY_DYNAMIC_DISPATCH(Name)(x, scale, zero, share, y, count);                                 \
  }
// NOLINTEND(bugprone-macro-parentheses)
GANTRY_EXPORT(to_u8, quantize, float, uint8_t)
GANTRY_EXPORT(to_i8, quantize, float, int8_t)
GANTRY_EXPORT(to_u16, quantize, float, uint16_t)
GANTRY_EXPORT(to_i16, quantize, float, int16_t)
GANTRY_EXPORT(from_u8, dequantize, uint8_t, float)
GANTRY_EXPORT(from_i8, dequantize, int8_t, float)
GANTRY_EXPORT(from_u16, dequantize, uint16_t, float)
GANTRY_EXPORT(from_i16, dequantize, int16_t, float)
GANTRY_EXPORT(from_i32, dequantize, int32_t, float)
#undef GANTRY_EXPORT

HWY_EXPORT(range_with_zero);
void simd::range_with_zero(const float* x, int64_t count, float* least, float* greatest) {
  HWY_DYNAMIC_DISPATCH(range_with_zero)(x, count, least, greatest);
}

}  // namespace gantry::cpu
#endif  // HWY_ONCE
