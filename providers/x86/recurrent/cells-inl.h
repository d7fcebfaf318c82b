// SPDX-License-Identifier: Apache-2.0
// Gate functions and state updates of a step of a recurrent layer. Included once for each Highway
// target.
#if defined(GANTRY_X86_RECURRENT_CELLS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_RECURRENT_CELLS_INL_H_
#undef GANTRY_X86_RECURRENT_CELLS_INL_H_
#else
#define GANTRY_X86_RECURRENT_CELLS_INL_H_
#endif

#include <algorithm>

#include "recurrent/step.h"
#include "simd/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

static_assert(kUnitBlock % kLanes == 0);

/// A vector of kLanes hidden units; the last block may have fewer.
struct Units {
  int64_t first;
  int64_t count;  // kLanes, or fewer at the end; 0 or less: none
  hn::Mask<F32> lanes;

  Units(int64_t hidden, int64_t begin)
      : first(begin),
        count(std::min(kLanes, hidden - begin)),
        lanes(hn::FirstN(F32(), static_cast<size_t>(std::max<int64_t>(count, 0)))) {}

  [[nodiscard]] HWY_INLINE V32 load(const float* from) const {
    return count == kLanes ? hn::LoadU(F32(), from + first)
                           : load_lanes(lanes, F32(), from + first);
  }
  HWY_INLINE void store(V32 x, float* to) const {
    if (count == kLanes) {
      hn::StoreU(x, F32(), to + first);
    } else {
      store_lanes(x, lanes, F32(), to + first);
    }
  }
};

/// The input projection (X * W + bias) of a gate of sequence `row`.
HWY_INLINE V32 projected(const RecurrentStep& s, const Units& units, int64_t row, int64_t gate) {
  const ProjectedLayout& layout = s.projected_layout;
  const int64_t skipped = units.first / kUnitBlock * (layout.block - kUnitBlock);
  return units.load(s.projected + row * s.projected_stride + gate * layout.gate + skipped);
}

HWY_INLINE V32 lstm(const RecurrentStep& s, const Units& units, int64_t row, const V32* sums) {
  float* cell = s.cell + row * s.state_stride;
  const V32 input = sigmoid(hn::Add(sums[0], projected(s, units, row, 0)));
  const V32 output = sigmoid(hn::Add(sums[1], projected(s, units, row, 1)));
  const V32 forget = sigmoid(hn::Add(sums[2], projected(s, units, row, 2)));
  const V32 fresh = hyperbolic_tangent(hn::Add(sums[3], projected(s, units, row, 3)));
  const V32 state = hn::MulAdd(forget, units.load(cell), hn::Mul(input, fresh));
  units.store(state, cell);
  return hn::Mul(output, hyperbolic_tangent(state));
}

/// The GRU's mix of the new and the previous state by the update gate.
HWY_INLINE V32 mixed(V32 update, V32 fresh, V32 before) {
  return hn::MulAdd(update, hn::Sub(before, fresh),
                    fresh);  // (1 - update) * fresh + update * before
}

HWY_INLINE V32 gru(const RecurrentStep& s, const Units& units, int64_t row, const V32* sums) {
  const V32 update = sigmoid(hn::Add(sums[0], projected(s, units, row, 0)));
  const V32 reset = sigmoid(hn::Add(sums[1], projected(s, units, row, 1)));
  const V32 product = s.bias ? hn::Add(sums[2], units.load(s.bias)) : sums[2];
  const V32 fresh = hyperbolic_tangent(hn::MulAdd(reset, product, projected(s, units, row, 2)));
  return mixed(update, fresh, units.load(s.before + row * s.state_stride));
}

/// Returns the update gate; stores reset * before in s.cell.
HWY_INLINE V32 gru_gates(const RecurrentStep& s, const Units& units, int64_t row, const V32* sums) {
  const V32 reset = sigmoid(hn::Add(sums[1], projected(s, units, row, 1)));
  const V32 before = units.load(s.before + row * s.state_stride);
  units.store(hn::Mul(reset, before), s.cell + row * s.state_stride);
  return sigmoid(hn::Add(sums[0], projected(s, units, row, 0)));
}

HWY_INLINE V32 gru_rest(const RecurrentStep& s, const Units& units, int64_t row, const V32* sums) {
  const V32 fresh = hyperbolic_tangent(hn::Add(sums[0], projected(s, units, row, 2)));
  const int64_t offset = row * s.state_stride;
  return mixed(units.load(s.after + offset), fresh, units.load(s.before + offset));
}

HWY_INLINE V32 rnn(const RecurrentStep& s, const Units& units, int64_t row, const V32* sums) {
  return hyperbolic_tangent(hn::Add(sums[0], projected(s, units, row, 0)));
}

template <CellKind kKind>
HWY_INLINE V32 finish(const RecurrentStep& s, const Units& units, int64_t row, const V32* sums) {
  if constexpr (kKind == CellKind::kLstm) return lstm(s, units, row, sums);
  if constexpr (kKind == CellKind::kGru) return gru(s, units, row, sums);
  if constexpr (kKind == CellKind::kGruGates) return gru_gates(s, units, row, sums);
  if constexpr (kKind == CellKind::kGruRest) return gru_rest(s, units, row, sums);
  return rnn(s, units, row, sums);
}

/// Computes units of sequence `row` from their sums and stores the state after the step and the
/// result.
template <CellKind kKind>
HWY_INLINE void finish_row(const RecurrentStep& s, const Units& units, int64_t row,
                           const V32* sums) {
  const V32 x = finish<kKind>(s, units, row, sums);
  units.store(x, s.after + row * s.state_stride);
  if (kKind != CellKind::kGruGates && s.result) units.store(x, s.result + row * s.result_stride);
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
