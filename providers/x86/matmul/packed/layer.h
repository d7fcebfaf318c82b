// SPDX-License-Identifier: Apache-2.0
// A product of rows of floats with a constant matrix and what is done to its results: packed once,
// run with any number of rows. Immutable once packed.
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
  /// True if products with a matrix of so many columns are made here: the CPU has the code, and
  /// panels are not mostly empty. [any]
  static bool takes(int64_t columns);

  /// `bias`: of the columns. Requires steps of `epilogue` that matmul_epilogue_of() knows. Errors:
  /// OUT_OF_MEMORY.
  void pack(const gantry_host* host, sdk::Choices& choices, const PanelWeights::Plain& plain,
            const std::vector<float>& bias, const Epilogue& epilogue);

  /// `source`: [rows, inner]; `addend` (null: there is none), `target`: [rows, columns], which may
  /// be the same. [any]
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
