// SPDX-License-Identifier: Apache-2.0
// The epilogue of a packed matmul: an addend that sums start from, bounds that a tile applies
// before it stores, or steps that run after a tile. Immutable.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "eltwise/code.h"
#include "fuse/epilogue.h"
#include "matmul/packed/code.h"

namespace gantry::x86 {

/// The steps of an epilogue as instructions, without an addend that is the first step. Slot 0 is
/// the result, 1 the addend, 2 temporary. Nothing if this code lacks one of the steps.
std::optional<std::vector<Instruction>> matmul_epilogue_of(const Epilogue& epilogue);

class TileEpilogue {
 public:
  static constexpr int64_t kMostColumns = 8 * kPanelColumns;  ///< of a call of finish()

  /// Of a Relu or Clip that is the only step.
  struct Bounds {
    float low;
    float high;
  };

  TileEpilogue() = default;
  /// Requires that matmul_epilogue_of(epilogue) has a value.
  explicit TileEpilogue(const Epilogue& epilogue);

  /// True if the sums start from the addend.
  [[nodiscard]] bool adds_first() const { return adds_first_; }
  /// If set, the tiles clip their results, and finish() is not called.
  [[nodiscard]] const std::optional<Bounds>& bounds() const { return bounds_; }
  /// True if finish() must be called for all results.
  [[nodiscard]] bool is_finished_later() const { return !steps_.empty() && !bounds_; }
  /// The addend, [count], for finish(): a copy in scratch memory if tiles overwrite it first.
  const float* kept_addend(sdk::Call& call, const float* addend, const float* target,
                           int64_t count) const;
  /// Applies the steps to `count` consecutive results, at most kMostColumns. `addend` may be null
  /// if no step but the first adds it. [any]
  void finish(float* target, const float* addend, int64_t count) const;

 private:
  bool adds_first_ = false;
  bool adds_later_ = false;
  std::vector<Instruction> steps_;
  std::optional<Bounds> bounds_;
};

}  // namespace gantry::x86
