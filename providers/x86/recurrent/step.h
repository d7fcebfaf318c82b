// SPDX-License-Identifier: Apache-2.0
// What a step of a recurrent layer reads and writes, and how its weights and what the input adds
// stand. Value types.
#pragma once

#include <cstdint>

namespace gantry::x86 {

enum class CellKind : uint8_t {
  kLstm,      ///< gates input, output, forget, cell
  kGru,       ///< gates update, reset, hidden; the reset is applied behind the product
  kGruGates,  ///< gates update and reset of a GRU that resets before the product of the third,
  kGruRest,   ///< which is a step of its own, when all units of that one are done
  kRnn        ///< one gate, its hyperbolic tangent the result
};

/// Gates that a step multiplies.
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

/// Hidden units stand packed in blocks of so many.
constexpr int64_t kUnitBlock = 16;
constexpr int64_t unit_blocks_of(int64_t hidden) { return (hidden + kUnitBlock - 1) / kUnitBlock; }

/// How stands what the input adds to the gates of a sequence: in elements, from gate to gate and
/// from block of units to block.
struct ProjectedLayout {
  int64_t width = 0;  ///< of all gates
  int64_t gate = 0;
  int64_t block = 0;

  /// [gates, hidden]
  static constexpr ProjectedLayout by_gates(int64_t gates, int64_t hidden) {
    return {gates * hidden, hidden, kUnitBlock};
  }
  /// [blocks, gates, kUnitBlock]
  static constexpr ProjectedLayout by_blocks(int64_t gates, int64_t hidden) {
    return {unit_blocks_of(hidden) * gates * kUnitBlock, kUnitBlock, gates * kUnitBlock};
  }
};

/// One step of some sequences in one direction. Strides are in elements, from sequence to sequence.
struct RecurrentStep {
  CellKind kind = CellKind::kLstm;
  int64_t hidden = 0;
  int64_t rows = 0;                  ///< sequences
  const float* weights = nullptr;    ///< [blocks, hidden, gates, kUnitBlock], missing units zero
  const float* bias = nullptr;       ///< [hidden] of the product for gate 2 of a GRU; null: none
  const float* projected = nullptr;  ///< what the input adds to all gates
  int64_t projected_stride = 0;
  ProjectedLayout projected_layout;
  const float* before = nullptr;  ///< [hidden]: the results of the last step
  float* after = nullptr;         ///< [hidden]: those of this one, elsewhere; from kGruGates to
                                  ///< kGruRest the update gates
  float* cell = nullptr;          ///< [hidden]: the state of an LSTM's cell, replaced; from
                                  ///< kGruGates to kGruRest what the resets leave of `before`
  int64_t state_stride = 0;       ///< of the three
  float* result = nullptr;        ///< [hidden]: what `after` gets once more; null: nowhere
  int64_t result_stride = 0;
};

}  // namespace gantry::x86
