// SPDX-License-Identifier: Apache-2.0
// A chain's steps as oneDNN's post-operations, bound to the tensors of a run.
#pragma once

#include "plan.h"
#include "unit.h"

namespace gantry::onednn {

/// What a primitive does to its result before it stores it.
class Epilogue {
 public:
  dnnl::post_ops ops;
  int addend_argument = 0;  ///< number of the addend's argument; 0: there is none to bind

  Epilogue() = default;
  /// The steps of a unit's chain and nothing else.
  Epilogue(const Unit& unit, const Desc& addend, bool in_place);

  /// The steps of a unit's chain. `addend`: layout of what is added, if something is; it is read
  /// where it stands, or, `in_place`, from the memory that the output overwrites.
  void append_steps(const Unit& unit, const Desc& addend, bool in_place);
  /// x * factor + shift, in one with what was asked for right before.
  void append_linear(float factor, float shift);
  /// Settles what append_linear was asked for; before anything else is appended, and at the end.
  void flush();

 private:
  void append_addend(const Unit& unit, const Desc& addend, bool in_place);

  float factor_ = 1;
  float shift_ = 0;
};

}  // namespace gantry::onednn
