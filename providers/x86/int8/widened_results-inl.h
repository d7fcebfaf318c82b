// SPDX-License-Identifier: Apache-2.0
// Scales sums of int8 products, applies the epilogue and stores the results. Included once for each
// Highway target.
#if defined(GANTRY_X86_BYTES_WORD_RESULTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_BYTES_WORD_RESULTS_INL_H_
#undef GANTRY_X86_BYTES_WORD_RESULTS_INL_H_
#else
#define GANTRY_X86_BYTES_WORD_RESULTS_INL_H_
#endif

#include <cstring>

#include "int8/widened_convolution.h"
#include "int8/widened_positions.h"
#include "int8/widened_stores-inl.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// Vector `v` of a panel of int8 values, as floats.
template <class Byte>
HWY_INLINE V32 load_numbers(const uint8_t* from, int v) {
  const hn::Rebind<Byte, I32> bytes;
  const auto numbers = hn::LoadU(bytes, reinterpret_cast<const Byte*>(from) + v * kLanes);
  return hn::ConvertTo(F32(), hn::PromoteTo(I32(), numbers));
}

/// Applies a step to `x`, [kRows, kVectorsOfPanel]. `addends`: the addend's panel in each row.
template <int kRows>
HWY_INLINE void apply_step(const Int8EpilogueStep& step, const uint8_t* const* addends, V32* x) {
  const F32 d;
  const V32 alpha = hn::Set(d, step.alpha);
  const V32 beta = hn::Set(d, step.beta);
  const V32 factor = hn::Set(d, step.factor);
#pragma GCC unroll 16
  for (int i = 0; i < kRows * kVectorsOfPanel; ++i) {
    switch (step.kind) {
      case Int8EpilogueStep::Kind::kLinear:
        x[i] = hn::MulAdd(x[i], alpha, beta);
        break;
      case Int8EpilogueStep::Kind::kRound:
        x[i] = hn::Min(hn::Max(hn::Round(x[i]), alpha), beta);
        break;
      case Int8EpilogueStep::Kind::kAdd: {
        const uint8_t* addend = addends[i / kVectorsOfPanel];
        const V32 added = step.is_signed ? load_numbers<int8_t>(addend, i % kVectorsOfPanel)
                                         : load_numbers<uint8_t>(addend, i % kVectorsOfPanel);
        x[i] = hn::MulAdd(added, factor, hn::MulAdd(x[i], alpha, beta));
        break;
      }
      case Int8EpilogueStep::Kind::kRelu:
        x[i] = hn::IfThenElse(hn::Lt(x[i], hn::Zero(d)), hn::Mul(x[i], alpha), x[i]);
        break;
      case Int8EpilogueStep::Kind::kClip:
        x[i] = hn::Min(hn::Max(x[i], alpha), beta);
        break;
    }
  }
}

/// Stores the results of kRows rows of a panel. `sums`: [kRows, kWidenedPanel]; `padded`: index of
/// the panel's first channel in scales and bias; `at`: index of the first result in the target,
/// whose rows are `step` apart; `count`: channels of the panel that exist.
template <int kRows>
HWY_INLINE void finish_rows(const WidenedConvolution& c, const WidenedTensors& tensors,
                            const int32_t* sums, int64_t padded, int64_t at, int64_t step,
                            int64_t count) {
  const bool is_whole = count == kWidenedPanel;
  const auto elements = static_cast<size_t>(count);
  if (c.target_type == Int8Type::kS32) {
    for (int r = 0; r < kRows; ++r) {
      std::memcpy(tensors.target + (at + r * step) * static_cast<int64_t>(sizeof(*sums)),
                  sums + r * kWidenedPanel, elements * sizeof(*sums));
    }
    return;
  }
  const F32 d;
  V32 x[kRows * kVectorsOfPanel];
#pragma GCC unroll 16
  for (int i = 0; i < kRows * kVectorsOfPanel; ++i) {
    const int64_t position = padded + i % kVectorsOfPanel * kLanes;
    const V32 sum = hn::ConvertTo(d, hn::LoadU(I32(), sums + i * kLanes));
    x[i] = hn::MulAdd(sum, hn::LoadU(d, c.scales + position), hn::LoadU(d, c.bias + position));
  }
  // A whole panel is read and written in place: a copy would stall on store forwarding.
  uint8_t few[kRows][kWidenedPanel] = {};
  const uint8_t* addends[kRows];
  for (int r = 0; r < kRows; ++r) {
    addends[r] = few[r];
    if (tensors.addend && is_whole) {
      addends[r] = tensors.addend + at + r * step;
    } else if (tensors.addend) {
      std::memcpy(few[r], tensors.addend + at + r * step, elements);
    }
  }
  for (size_t i = 0; i < c.step_count; ++i) apply_step<kRows>(c.steps[i], addends, x);
  if (c.target_type == Int8Type::kF32) {
    for (int r = 0; r < kRows; ++r) {
      float floats[kWidenedPanel];
      auto* target = reinterpret_cast<float*>(tensors.target) + at + r * step;
      float* to = is_whole ? target : floats;
      for (int v = 0; v < kVectorsOfPanel; ++v)
        hn::StoreU(x[r * kVectorsOfPanel + v], d, to + v * kLanes);
      if (!is_whole) std::memcpy(target, floats, elements * sizeof(float));
    }
    return;
  }
  uint8_t* to[kRows];
  for (int r = 0; r < kRows; ++r) to[r] = is_whole ? tensors.target + at + r * step : few[r];
  const bool is_signed = c.target_type == Int8Type::kS8;
  if constexpr (kRows == kRowsOfStore) {
    is_signed ? store_rows<int8_t>(x, c.target_zero, to)
              : store_rows<uint8_t>(x, c.target_zero, to);
  } else {
    static_assert(kRows == 1);
    is_signed ? store_row<int8_t>(x, c.target_zero, to[0])
              : store_row<uint8_t>(x, c.target_zero, to[0]);
  }
  if (is_whole) return;
  for (int r = 0; r < kRows; ++r) std::memcpy(tensors.target + at + r * step, few[r], elements);
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
