// SPDX-License-Identifier: Apache-2.0
// A chain's steps as oneDNN's post-operations, bound to the tensors of a run.
#pragma once

#include "plan.h"
#include "unit.h"

namespace gantry::onednn {

/// The steps of a unit's chain behind a primitive. `addend`: layout of what is added, if something
/// is; it is read where it stands, or, `in_place`, from the memory that the output overwrites.
struct Epilogue {
  dnnl::post_ops ops;
  int addend_argument = 0;  ///< number of the addend's argument; 0: there is none to bind

  Epilogue(const Unit& unit, const Desc& addend, bool in_place);
};

}  // namespace gantry::onednn
