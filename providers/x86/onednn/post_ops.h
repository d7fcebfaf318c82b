// SPDX-License-Identifier: Apache-2.0
// A epilogue's steps as oneDNN's post-operations, bound to the tensors of a run.
//
// Of an int8 primitive the results are not floats as the model has them but multiples of a
// measure: the scale that the next step needs them in, be that a rounding, the tensor that is added
// or the target. What brings the sums of products to the first measure is in the scales of the
// weights, which are applied anyway; so an epilogue without steps is empty, and one with a rounding
// and a residual has the one linear function that it cannot do without.
#pragma once

#include "fuse/fusion.h"
#include "onednn/plan.h"

namespace gantry::x86 {

/// The measure in which a quantized fusion's primitive is to make its results; 1 of other units.
float measure_of_results(const Fusion& fusion);
/// The measure in which step `number` of the fusion's epilogue and those behind it need their
/// numbers. `adds_in_any`: a number of int8 is added in whatever measure the next step needs.
float measure_before(const Fusion& fusion, size_t number, bool adds_in_any);
/// True of a last step that does no more than storing int8 values does, which keeps them
/// between the lowest and the highest.
bool is_done_by_storing(const Fusion& fusion, size_t number);

/// What a primitive does to its result before it stores it.
class PostOps {
 public:
  dnnl::post_ops ops;
  int addend_argument = 0;  ///< number of the addend's argument; 0: there is none to bind

  PostOps() = default;
  /// The steps of a fusion's epilogue and nothing else, from measure_of_results() to the target's
  /// scale; none of them in the variant kOwn. `addend`: layout of what is added, if something is;
  /// it is read where it stands, or, kInPlace, from the memory that the output overwrites, whose
  /// element type it has.
  PostOps(const Fusion& fusion, const Desc& addend, Variant variant);

  /// A function of what the results stand for.
  void append_activation(const Activation& activation);
  /// x * factor + shift, in one with what was asked for right before.
  void append_linear(float factor, float shift);
  /// Settles what append_linear was asked for; before anything else is appended, and at the end.
  void flush();

 private:
  void append_step(const Fusion& fusion, size_t number, const Desc& addend, bool in_place);
  void append_rounding(const Quantization& rounding);
  void append_addend(const Fusion& fusion, const Desc& addend, bool in_place);
  void bring_to(float measure);

  float measure_ = 1;  // what 1 stands for
  float factor_ = 1;
  float shift_ = 0;
};

}  // namespace gantry::x86
