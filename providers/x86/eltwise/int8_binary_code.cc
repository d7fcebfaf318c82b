// SPDX-License-Identifier: Apache-2.0
#include "eltwise/int8_binary_code.h"

#include <algorithm>

#include "simd/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "eltwise/int8_binary_code.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

using I32 = hn::RebindToSigned<F32>;
using U8 = hn::Rebind<uint8_t, I32>;
using V8 = hn::Vec<U8>;

/// s8 elements get their highest bit flipped, so that all are u8, 128 larger.
struct Kind {
  V8 turn;
  int32_t zero;

  explicit Kind(const Quantization& of)
      : turn(hn::Set(U8(), of.type == Type::s8 ? uint8_t{128} : uint8_t{0})),
        zero(of.zero_point + (of.type == Type::s8 ? 128 : 0)) {}
};

HWY_INLINE V32 difference(V8 bytes, const Kind& kind) {
  const I32 d;
  const auto numbers = hn::PromoteTo(d, hn::Xor(bytes, kind.turn));
  return hn::ConvertTo(F32(), hn::Sub(numbers, hn::Set(d, kind.zero)));
}

/// Clips, rounds and quantizes results.
struct Rounding {
  Kind kind;
  V32 lowest;
  V32 highest;

  // No int8 value is further from the zero point; beyond 2^15 Highway 1.0's DemoteTo is wrong.
  explicit Rounding(const Int8Binary& pair)
      : kind(pair.target),
        lowest(hn::Set(F32(), std::max(pair.lowest, -512.0F))),
        highest(hn::Set(F32(), std::min(pair.highest, 512.0F))) {}
};

HWY_INLINE V8 bytes_of(V32 made, const Rounding& to) {
  const I32 d;
  const auto number = hn::NearestInt(hn::Min(hn::Max(made, to.lowest), to.highest));
  return hn::Xor(hn::DemoteTo(U8(), hn::Add(number, hn::Set(d, to.kind.zero))), to.kind.turn);
}

/// kMultiplies: a product, else a sum. kEach: b has an element for each one of a, else one for all.
template <bool kMultiplies, bool kEach>
void run_pairs(const Int8Binary& pair, const uint8_t* a, const uint8_t* b, uint8_t* to,
               int64_t count) {
  const F32 d;
  const U8 bytes;
  const Kind first(pair.first);
  const Kind second(pair.second);
  const Rounding rounding(pair);
  const V32 first_factor = hn::Set(d, pair.first_factor);
  const V32 second_factor = hn::Set(d, pair.second_factor);
  const V32 single = difference(hn::Set(bytes, *b), second);
  const auto make = [&](const uint8_t* x, const uint8_t* y, uint8_t* result) HWY_ATTR {
    const V32 left = difference(hn::LoadU(bytes, x), first);
    const V32 right = kEach ? difference(hn::LoadU(bytes, y), second) : single;
    const V32 made = kMultiplies ? hn::Mul(hn::Mul(left, right), first_factor)
                                 : hn::MulAdd(left, first_factor, hn::Mul(right, second_factor));
    hn::StoreU(bytes_of(made, rounding), bytes, result);
  };
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) make(a + i, kEach ? b + i : b, to + i);
  if (whole == count) return;
  uint8_t x[kMostLanes] = {};
  uint8_t y[kMostLanes] = {};
  uint8_t result[kMostLanes];
  std::copy(a + whole, a + count, x);
  if (kEach) std::copy(b + whole, b + count, y);
  make(x, y, result);
  std::copy_n(result, count - whole, to + whole);
}

/// kEach: a factor and a shift for each element of a, else one for all.
template <bool kEach>
void run_scaling(const Int8Binary& pair, const float* factors, const float* shifts,
                 const uint8_t* a, uint8_t* to, int64_t count) {
  const F32 d;
  const U8 bytes;
  const Kind first(pair.first);
  const Rounding rounding(pair);
  const V32 factor = hn::Set(d, *factors);
  const V32 shift = hn::Set(d, *shifts);
  const auto make = [&](const uint8_t* x, const float* by, const float* plus,
                        uint8_t* result) HWY_ATTR {
    const V32 number = difference(hn::LoadU(bytes, x), first);
    const V32 made =
        hn::MulAdd(number, kEach ? hn::LoadU(d, by) : factor, kEach ? hn::LoadU(d, plus) : shift);
    hn::StoreU(bytes_of(made, rounding), bytes, result);
  };
  const int64_t whole = count / kLanes * kLanes;
  const int64_t step = kEach ? 1 : 0;
  for (int64_t i = 0; i < whole; i += kLanes)
    make(a + i, factors + i * step, shifts + i * step, to + i);
  if (whole == count) return;
  uint8_t x[kMostLanes] = {};
  float by[kMostLanes] = {};
  float plus[kMostLanes] = {};
  uint8_t result[kMostLanes];
  std::copy(a + whole, a + count, x);
  if (kEach) std::copy(factors + whole, factors + count, by);
  if (kEach) std::copy(shifts + whole, shifts + count, plus);
  make(x, by, plus, result);
  std::copy_n(result, count - whole, to + whole);
}

void scale_each_here(const Int8Binary& pair, const float* factors, const float* shifts,
                     const uint8_t* a, uint8_t* to, int64_t count) {
  run_scaling<true>(pair, factors, shifts, a, to, count);
}

void scale_all_here(const Int8Binary& pair, float factor, float shift, const uint8_t* a,
                    uint8_t* to, int64_t count) {
  run_scaling<false>(pair, &factor, &shift, a, to, count);
}

void pair_each_here(const Int8Binary& pair, const uint8_t* a, const uint8_t* b, uint8_t* to,
                    int64_t count) {
  (pair.multiplies ? run_pairs<true, true> : run_pairs<false, true>)(pair, a, b, to, count);
}

void pair_all_here(const Int8Binary& pair, const uint8_t* a, const uint8_t* b, uint8_t* to,
                   int64_t count) {
  (pair.multiplies ? run_pairs<true, false> : run_pairs<false, false>)(pair, a, b, to, count);
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(pair_each_here);
HWY_EXPORT(pair_all_here);
HWY_EXPORT(scale_each_here);
HWY_EXPORT(scale_all_here);

void pair_each(const Int8Binary& pair, const uint8_t* a, const uint8_t* b, uint8_t* to,
               int64_t count) {
  if (count == 0) return;
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(pair_each_here)(pair, a, b, to, count);
}

void pair_all(const Int8Binary& pair, const uint8_t* a, uint8_t b, uint8_t* to, int64_t count) {
  if (count == 0) return;
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(pair_all_here)(pair, a, &b, to, count);
}

void scale_each(const Int8Binary& pair, const float* factors, const float* shifts, const uint8_t* a,
                uint8_t* to, int64_t count) {
  if (count == 0) return;
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(scale_each_here)(pair, factors, shifts, a, to, count);
}

void scale_all(const Int8Binary& pair, float factor, float shift, const uint8_t* a, uint8_t* to,
               int64_t count) {
  if (count == 0) return;
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(scale_all_here)(pair, factor, shift, a, to, count);
}

}  // namespace gantry::x86
#endif
