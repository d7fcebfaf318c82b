// SPDX-License-Identifier: Apache-2.0
// Operands of a step of a recurrent layer, and the layouts of its weights and input projection.
// Value types.
#pragma once

#include <cstdint>

namespace gantry::x86 {

enum class CellKind : uint8_t {
  kLstm,      ///< gates input, output, forget, cell
  kGru,       ///< gates update, reset, hidden; linear_before_reset = 1
  kGruGates,  ///< gates update and reset, linear_before_reset = 0: first half of a step
  kGruRest,   ///< gate hidden, linear_before_reset = 0: second half, after all units of the first
  kRnn        ///< one gate; its tanh is the result
};

/// Number of gates of a step.
constexpr int64_t gates_of(CellKind kind) {
  switch (kind) {
    case CellKind::kLstm:
      return 4;
    case CellKind::kGru:
      return 3;
    case CellKind::kGruGates:
      return 2;
    default:
      return 1;
  }
}

/// Hidden units of a packed block.
constexpr int64_t kUnitBlock = 16;
constexpr int64_t unit_blocks_of(int64_t hidden) { return (hidden + kUnitBlock - 1) / kUnitBlock; }

/// Layout of the input projection (X * W + bias) of a sequence, in elements.
struct ProjectedLayout {
  int64_t width = 0;  ///< of all gates
  int64_t gate = 0;   ///< stride from gate to gate
  int64_t block = 0;  ///< stride from block of units to block

  /// [gates, hidden]
  static constexpr ProjectedLayout by_gates(int64_t gates, int64_t hidden) {
    return {gates * hidden, hidden, kUnitBlock};
  }
  /// [blocks, gates, kUnitBlock]
  static constexpr ProjectedLayout by_blocks(int64_t gates, int64_t hidden) {
    return {unit_blocks_of(hidden) * gates * kUnitBlock, kUnitBlock, gates * kUnitBlock};
  }
};

/// One step of `rows` sequences in one direction. Strides are in elements, from sequence to
/// sequence.
struct RecurrentStep {
  CellKind kind = CellKind::kLstm;
  int64_t hidden = 0;
  int64_t rows = 0;
  const float* weights = nullptr;    ///< [blocks, hidden, gates, kUnitBlock], padded with zeros
  const float* bias = nullptr;       ///< [hidden]: recurrent bias of kGru's gate 2; null: none
  const float* projected = nullptr;  ///< input projection of all gates
  int64_t projected_stride = 0;
  ProjectedLayout projected_layout;
  const float* before = nullptr;  ///< [hidden]: state before the step
  float* after = nullptr;         ///< [hidden]: state after the step, not in `before`; from
                                  ///< kGruGates to kGruRest the update gate
  float* cell = nullptr;          ///< [hidden]: cell state of an LSTM, updated; from kGruGates to
                                  ///< kGruRest reset * before
  int64_t state_stride = 0;       ///< of before, after and cell
  float* result = nullptr;        ///< [hidden]: a copy of `after` (output Y); null: none
  int64_t result_stride = 0;
};

}  // namespace gantry::x86
