// SPDX-License-Identifier: Apache-2.0
// The steps of an epilogue as oneDNN's post-ops.
//
// Intermediate results of an int8 primitive are multiples of a measure: the scale of the next
// quantized operand of the epilogue, be that a rounding, the addend or the target. The factor from
// the sums of products to the first measure is part of the weights' scales, which are applied
// anyway. So an epilogue without steps needs no post-op, and one with a rounding and a residual
// needs one linear post-op.
#pragma once

#include "fuse/fusion.h"
#include "onednn/plan.h"

namespace gantry::x86 {

/// The measure of a quantized fusion's scaled sums, before its epilogue; 1 for other fusions.
float result_scale(const Fusion& fusion);
/// The measure that steps `number` and later of the epilogue need. `adds_in_any`: the caller can
/// add an int8 addend in any measure.
float scale_before(const Fusion& fusion, size_t number, bool adds_in_any);
/// True if step `number` is the last one and only clips as storing int8 does, by saturation.
bool is_done_by_storing(const Fusion& fusion, size_t number);

/// Post-ops of a primitive.
class PostOps {
 public:
  dnnl::post_ops ops;
  int addend_argument = 0;  ///< argument index (DNNL_ARG_...) of the addend; 0: none to bind

  PostOps() = default;
  /// The epilogue of a fusion, from result_scale() to the target's scale; empty for
  /// Variant::kOwn. `addend`: layout of the addend, if there is one. With Variant::kInPlace the
  /// addend is read from the output's memory, whose dtype it must have.
  PostOps(const Fusion& fusion, const Desc& addend, Variant variant);

  /// Appends a function of the real values, whatever the measure.
  void append_activation(const Activation& activation);
  /// Appends x * factor + shift, merged with a linear function appended just before.
  void append_linear(float factor, float shift);
  /// Appends the pending linear function. Call it before any other post-op, and at the end.
  void flush();

 private:
  void append_step(const Fusion& fusion, size_t number, const Desc& addend, bool in_place);
  void append_rounding(const Quantization& rounding);
  void append_addend(const Fusion& fusion, const Desc& addend, bool in_place);
  void bring_to(float measure);

  float measure_ = 1;  // real value of 1
  float factor_ = 1;
  float shift_ = 0;
};

}  // namespace gantry::x86
