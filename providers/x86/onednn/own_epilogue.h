// SPDX-License-Identifier: Apache-2.0
// The library's post-operations lose numbers: its Relu, Clip and HardSigmoid make a bound of what
// is no number, its GELU makes no number of infinity. So a run whose numbers may lead there has its
// primitive made without post-operations, and the steps of the epilogue by this provider's code
// behind it. All others keep what is fast: that they are ordinary is read off the operands, which
// takes some hundredths of the primitive's own time.
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

/// True if each is a number below 2^50, so that sums of up to 2^26 products of two such are finite.
/// On the threads of the arena around. [any]
bool is_ordinary(std::span<const float> numbers);
bool is_ordinary(const dnnl::memory& numbers);  ///< f32 or bf16

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
  bool is_possible_ = false;        // some step loses numbers, and this can take its place
  bool has_ordinary_bias_ = true;
  std::function<dnnl::memory()> weights_;
  mutable std::once_flag are_weights_read_;
  mutable bool has_ordinary_weights_ = true;
};

}  // namespace gantry::x86
