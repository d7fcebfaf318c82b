// SPDX-License-Identifier: Apache-2.0
// A product of rows of floats with a constant matrix and what is done to its results: packed once,
// run with any number of rows. Immutable once packed.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <optional>
#include <vector>

#include "eltwise/code.h"
#include "fuse/epilogue.h"
#include "matmul/packed/weights.h"

namespace gantry::x86 {

/// What a epilogue's steps are to the results, but for an addend that comes first: place 0 is the
/// result, 1 the addend, 2 is free. Nothing: there is a step among them that has no code here.
std::optional<std::vector<Instruction>> matmul_epilogue_of(const Epilogue& epilogue);

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
  struct Bounds {
    float low;
    float high;
  };
  /// Of steps that are one Relu or one Clip, which tiles do before they are stored.
  static std::optional<Bounds> bounds_of(const std::vector<Instruction>& steps);

  int64_t inner_ = 0;
  int64_t columns_ = 0;
  PanelWeights weights_;
  std::vector<float> bias_;  // of whole panels; empty: zeros
  bool adds_first_ = false;
  bool adds_later_ = false;
  std::vector<Instruction> steps_;
  std::optional<Bounds> bounds_;
};

}  // namespace gantry::x86
