// SPDX-License-Identifier: Apache-2.0
// An epilogue by this provider's code, after a oneDNN primitive without post-ops. Post-ops are
// faster, but lose NaN and infinity (docs/decisions/0077-nan-and-infinity.md), so this is for runs
// with operands that are not ordinary (ordinary.h).
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

/// The epilogue of one primitive.
class OwnEpilogue {
 public:
  /// Sets the steps. `weights`: returns the packed weights, which the first is_needed() reads;
  /// null: the weights are a tensor of the run.
  void set(const Fusion& fusion, std::span<const float> bias,
           std::function<dnnl::memory()> weights);

  /// False before set(), and if no run can need it: no activation, or not all is f32.
  [[nodiscard]] bool is_possible() const { return is_possible_; }
  /// True if an operand, a weight or the bias is not ordinary. Requires is_possible(). Uses the
  /// threads of with_threads(). [any]
  [[nodiscard]] bool is_needed(std::initializer_list<std::span<const float>> operands) const;

  /// Applies all steps in place. `addend`: as many elements in the same order; null if no step
  /// adds. Uses the threads of with_threads(). [any]
  void run(std::span<float> results, const float* addend) const;

 private:
  std::vector<Instruction> steps_;  // slots: results, addend
  bool is_possible_ = false;        // there is an activation, and all is f32
  bool has_ordinary_bias_ = true;
  std::function<dnnl::memory()> weights_;
  mutable std::once_flag are_weights_read_;
  mutable bool has_ordinary_weights_ = true;
};

}  // namespace gantry::x86
