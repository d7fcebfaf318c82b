// SPDX-License-Identifier: Apache-2.0
#include "recurrent/code.h"

#include <algorithm>

#include "simd/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "recurrent/code.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "recurrent/cells-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// Most sequences of a tile: the sums of all gates and their operands fit the registers.
constexpr int most_rows(CellKind kind) {
  if (!kHasManyRegisters) return 3;
  return kind == CellKind::kLstm ? 6 : 8;
}

/// sums[r][g] = weights of gate g times `before` of sequence r. With few sums, each is split into
/// independent dependency chains.
template <int kGates, int kRows>
HWY_INLINE void multiply(const RecurrentStep& s, const float* before, const float* weights,
                         V32* sums) {
  const F32 d;
  constexpr int kSums = kRows * kGates;
  constexpr int kParts = kSums >= 8 ? 1 : kSums >= 4 ? 2 : kSums >= 2 ? 3 : 6;
  constexpr int64_t kStep = kGates * kUnitBlock;
  V32 parts[kSums * kParts];
  for (V32& part : parts) part = hn::Zero(d);
  const auto add = [&](int64_t k, V32* to) HWY_ATTR {
    V32 x[kRows];
    for (int r = 0; r < kRows; ++r) x[r] = hn::Set(d, before[r * s.state_stride + k]);
    for (int g = 0; g < kGates; ++g) {
      const V32 w = hn::LoadU(d, weights + k * kStep + g * kUnitBlock);
      for (int r = 0; r < kRows; ++r) to[r * kGates + g] = hn::MulAdd(x[r], w, to[r * kGates + g]);
    }
  };
  int64_t k = 0;
  for (; k + kParts <= s.hidden; k += kParts) {
    for (int part = 0; part < kParts; ++part) add(k + part, parts + part * kSums);
  }
  for (; k < s.hidden; ++k) add(k, parts);
  for (int i = 0; i < kSums; ++i) {
    sums[i] = parts[i];
    for (int part = 1; part < kParts; ++part) sums[i] = hn::Add(sums[i], parts[part * kSums + i]);
  }
}

template <CellKind kKind, int kRows>
void run_rows(const RecurrentStep& s, const Units& units, int64_t row, const float* weights) {
  constexpr int kGates = static_cast<int>(gates_of(kKind));
  V32 sums[kRows * kGates];
  const float* factors = kKind == CellKind::kGruRest ? s.cell : s.before;
  multiply<kGates, kRows>(s, factors + row * s.state_stride, weights, sums);
  for (int r = 0; r < kRows; ++r) finish_row<kKind>(s, units, row + r, sums + r * kGates);
}

/// Computes `rows` sequences, up to kRows.
template <CellKind kKind, int kRows>
void run_tile(const RecurrentStep& s, const Units& units, int64_t row, int64_t rows,
              const float* weights) {
  if (rows == kRows) return run_rows<kKind, kRows>(s, units, row, weights);
  if constexpr (kRows > 1) run_tile<kKind, kRows - 1>(s, units, row, rows, weights);
}

template <CellKind kKind>
void run_units(const RecurrentStep& s, int64_t begin, int64_t end) {
  // Tiles of about equal heights, as each reads all weights.
  constexpr int kMostRows = most_rows(kKind);
  const int64_t tiles = (s.rows + kMostRows - 1) / kMostRows;
  for (int64_t block = begin; block < end; ++block) {
    const float* weights = s.weights + block * s.hidden * gates_of(kKind) * kUnitBlock;
    for (int64_t lane = 0; lane < kUnitBlock; lane += kLanes) {
      const Units units(s.hidden, block * kUnitBlock + lane);
      if (units.count <= 0) break;
      for (int64_t tile = 0; tile < tiles; ++tile) {
        const int64_t row = tile * s.rows / tiles;
        run_tile<kKind, kMostRows>(s, units, row, (tile + 1) * s.rows / tiles - row,
                                   weights + lane);
      }
    }
  }
}

void run_step_here(const RecurrentStep& s, int64_t begin, int64_t end) {
  switch (s.kind) {
    case CellKind::kLstm:
      return run_units<CellKind::kLstm>(s, begin, end);
    case CellKind::kGru:
      return run_units<CellKind::kGru>(s, begin, end);
    case CellKind::kGruGates:
      return run_units<CellKind::kGruGates>(s, begin, end);
    case CellKind::kGruRest:
      return run_units<CellKind::kGruRest>(s, begin, end);
    case CellKind::kRnn:
      return run_units<CellKind::kRnn>(s, begin, end);
  }
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(run_step_here);

void run_step(const RecurrentStep& step, int64_t begin, int64_t end) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(run_step_here)(step, begin, end);
}

}  // namespace gantry::x86
#endif
