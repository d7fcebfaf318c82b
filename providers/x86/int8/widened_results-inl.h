// SPDX-License-Identifier: Apache-2.0
// What becomes of sums of int8 products before they are stored, for one of Highway's targets:
// included again for each.
#if defined(GANTRY_X86_BYTES_WORD_RESULTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_BYTES_WORD_RESULTS_INL_H_
#undef GANTRY_X86_BYTES_WORD_RESULTS_INL_H_
#else
#define GANTRY_X86_BYTES_WORD_RESULTS_INL_H_
#endif

#include <cstring>

#include "int8/widened_convolution.h"
#include "int8/widened_positions.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

using I32 = hn::RebindToSigned<F32>;
using V32I = hn::Vec<I32>;

static_assert(kWidenedPanel % kLanes == 0);
constexpr int kVectorsOfPanel = static_cast<int>(kWidenedPanel / kLanes);

/// A panel's numbers as floats.
template <class Byte>
HWY_INLINE V32 load_numbers(const uint8_t* from, int v) {
  const hn::Rebind<Byte, I32> bytes;
  const auto numbers = hn::LoadU(bytes, reinterpret_cast<const Byte*>(from) + v * kLanes);
  return hn::ConvertTo(F32(), hn::PromoteTo(I32(), numbers));
}

HWY_INLINE void apply_step(const Int8EpilogueStep& step, const uint8_t* addend, V32* x) {
  const F32 d;
  const V32 alpha = hn::Set(d, step.alpha);
  const V32 beta = hn::Set(d, step.beta);
  for (int v = 0; v < kVectorsOfPanel; ++v) {
    switch (step.kind) {
      case Int8EpilogueStep::Kind::kLinear:
        x[v] = hn::MulAdd(x[v], alpha, beta);
        break;
      case Int8EpilogueStep::Kind::kRound:
        x[v] = hn::Min(hn::Max(hn::Round(x[v]), alpha), beta);
        break;
      case Int8EpilogueStep::Kind::kAdd: {
        const V32 added =
            step.is_signed ? load_numbers<int8_t>(addend, v) : load_numbers<uint8_t>(addend, v);
        x[v] = hn::MulAdd(added, hn::Set(d, step.factor), hn::MulAdd(x[v], alpha, beta));
        break;
      }
      case Int8EpilogueStep::Kind::kRelu:
        x[v] = hn::IfThenElse(hn::Lt(x[v], hn::Zero(d)), hn::Mul(x[v], alpha), x[v]);
        break;
      case Int8EpilogueStep::Kind::kClip:
        x[v] = hn::Min(hn::Max(x[v], alpha), beta);
        break;
    }
  }
}

template <class Byte>
HWY_INLINE void store_numbers(const V32* x, int32_t zero, uint8_t* to) {
  const F32 d;
  const hn::Rebind<Byte, I32> bytes;
  // Beyond them all are the largest or the smallest number. With a zero they stay below 2^15: from
  // there to 2^15 + 255 Highway 1.0's DemoteTo drops the topmost bit before it saturates.
  const V32 most = hn::Set(d, 1 << 14);
  for (int v = 0; v < kVectorsOfPanel; ++v) {
    const V32 bounded = hn::Max(hn::Min(x[v], most), hn::Neg(most));
    const V32I number = hn::Add(hn::NearestInt(bounded), hn::Set(I32(), zero));
    hn::StoreU(hn::DemoteTo(bytes, number), bytes, reinterpret_cast<Byte*>(to) + v * kLanes);
  }
}

/// Stores the results of a panel's sums. `padded`: the first one's place among scales and biases;
/// `at`: its place in the target; `count`: how many of them there are.
HWY_INLINE void finish_panel(const WidenedConvolution& c, const WidenedTensors& tensors,
                             const int32_t* sums, int64_t padded, int64_t at, int64_t count) {
  const bool is_whole = count == kWidenedPanel;
  const auto elements = static_cast<size_t>(count);
  if (c.target_type == Int8Type::kS32) {
    std::memcpy(tensors.target + at * static_cast<int64_t>(sizeof(*sums)), sums,
                elements * sizeof(*sums));
    return;
  }
  const F32 d;
  V32 x[kVectorsOfPanel];
  for (int v = 0; v < kVectorsOfPanel; ++v) {
    const V32 sum = hn::ConvertTo(d, hn::LoadU(I32(), sums + v * kLanes));
    x[v] = hn::MulAdd(sum, hn::LoadU(d, c.scales + padded + v * kLanes),
                      hn::LoadU(d, c.bias + padded + v * kLanes));
  }
  // A whole panel is read and written where it stands: a copy would wait for what it copies.
  uint8_t few[kWidenedPanel] = {};
  const uint8_t* addend = few;
  if (tensors.addend && is_whole) {
    addend = tensors.addend + at;
  } else if (tensors.addend) {
    std::memcpy(few, tensors.addend + at, elements);
  }
  for (size_t i = 0; i < c.step_count; ++i) apply_step(c.steps[i], addend, x);
  if (c.target_type == Int8Type::kF32) {
    float floats[kWidenedPanel];
    auto* target = reinterpret_cast<float*>(tensors.target) + at;
    float* to = is_whole ? target : floats;
    for (int v = 0; v < kVectorsOfPanel; ++v) hn::StoreU(x[v], d, to + v * kLanes);
    if (!is_whole) std::memcpy(target, floats, elements * sizeof(float));
    return;
  }
  uint8_t* to = is_whole ? tensors.target + at : few;
  if (c.target_type == Int8Type::kS8) {
    store_numbers<int8_t>(x, c.target_zero, to);
  } else {
    store_numbers<uint8_t>(x, c.target_zero, to);
  }
  if (!is_whole) std::memcpy(tensors.target + at, few, elements);
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
