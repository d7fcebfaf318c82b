// SPDX-License-Identifier: Apache-2.0
// A matmul of f32 rows with a constant matrix, and its epilogue: packed once, run with any number
// of rows. Immutable once packed.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <vector>

#include "fuse/epilogue.h"
#include "matmul/packed/tile_epilogue.h"
#include "matmul/packed/weights.h"

namespace gantry::x86 {

class PackedMatMul {
 public:
  /// True if this code runs a matmul with so many columns: the CPU has it, and panels are not
  /// mostly padding. [any]
  static bool takes(int64_t columns);

  /// `bias`: [columns]. Requires takes(columns), and that matmul_epilogue_of(epilogue) has a value.
  /// Errors: OUT_OF_MEMORY.
  void pack(const gantry_host* host, sdk::Choices& choices, const PanelWeights::Plain& plain,
            const std::vector<float>& bias, const Epilogue& epilogue);

  /// `source`: [rows, inner]; `target`: [rows, columns]; `addend`: as the target, which it may be;
  /// null: none. [any]
  void run(sdk::Call& call, int64_t rows, const float* source, const float* addend,
           float* target) const;

 private:
  class Run;

  int64_t inner_ = 0;
  int64_t columns_ = 0;
  PanelWeights weights_;
  std::vector<float> bias_;  // of whole panels; empty: zeros
  TileEpilogue epilogue_;
};

}  // namespace gantry::x86
