// SPDX-License-Identifier: Apache-2.0
// What is done to the results of tiles: an addend with which sums begin, bounds that tiles keep
// before they store, and steps that follow. Immutable.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "eltwise/code.h"
#include "fuse/epilogue.h"
#include "matmul/packed/code.h"

namespace gantry::x86 {

/// What the steps of an epilogue are to the results, but for an addend that comes first: place 0 is
/// the result, 1 the addend, 2 is free. Nothing: there is a step among them that has no code here.
std::optional<std::vector<Instruction>> matmul_epilogue_of(const Epilogue& epilogue);

class TileEpilogue {
 public:
  static constexpr int64_t kMostColumns = 8 * kPanelColumns;  ///< finished at once

  /// A Relu or a Clip that is all there is to do.
  struct Bounds {
    float low;
    float high;
  };

  TileEpilogue() = default;
  /// Requires steps that matmul_epilogue_of() knows.
  explicit TileEpilogue(const Epilogue& epilogue);

  /// Sums begin with the addend.
  [[nodiscard]] bool adds_first() const { return adds_first_; }
  /// For tiles to keep; then finish() is not called.
  [[nodiscard]] const std::optional<Bounds>& bounds() const { return bounds_; }
  /// finish() is to be called for all results.
  [[nodiscard]] bool is_finished_later() const { return !steps_.empty() && !bounds_; }
  /// The addend as finish() is to read it: a copy in scratch memory where tiles are stored in its
  /// place before. Each has `count` numbers.
  const float* kept_addend(sdk::Call& call, const float* addend, const float* target,
                           int64_t count) const;
  /// The steps for `count` results that stand together, at most kMostColumns. `addend` is not read
  /// unless it is added later. [any]
  void finish(float* target, const float* addend, int64_t count) const;

 private:
  bool adds_first_ = false;
  bool adds_later_ = false;
  std::vector<Instruction> steps_;
  std::optional<Bounds> bounds_;
};

}  // namespace gantry::x86
