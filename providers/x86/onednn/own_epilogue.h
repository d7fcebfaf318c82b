// SPDX-License-Identifier: Apache-2.0
// An epilogue by this provider's code, behind a primitive of the library that has no
// post-operations. Those are faster, but lose NaN and infinity
// (docs/decisions/0077-nan-and-infinity.md), so this is for the runs whose operands are not all
// ordinary numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <vector>

#include "eltwise/code.h"
#include "fuse/fusion.h"

namespace gantry::x86 {

/// The steps behind one primitive.
class OwnEpilogue {
 public:
  /// Until this is called it is not possible. `weights`: as the primitive multiplies them, read in
  /// the first run; null: they are a tensor of the run.
  void set(const Fusion& fusion, std::span<const float> bias,
           std::function<dnnl::memory()> weights);

  /// False: no run needs it.
  [[nodiscard]] bool is_possible() const { return is_possible_; }
  /// True of runs that need it. Requires that it is possible. On the threads of the arena around.
  /// [any]
  [[nodiscard]] bool is_needed(std::initializer_list<std::span<const float>> operands) const;

  /// All steps, in place. `addend`: what a step adds, of as many elements in the same order, or
  /// null. On the threads of the arena around. [any]
  void run(std::span<float> results, const float* addend) const;

 private:
  std::vector<Instruction> steps_;  // places: results, addend
  bool is_possible_ = false;        // there is an activation, and floats alone
  bool has_ordinary_bias_ = true;
  std::function<dnnl::memory()> weights_;
  mutable std::once_flag are_weights_read_;
  mutable bool has_ordinary_weights_ = true;
};

}  // namespace gantry::x86
