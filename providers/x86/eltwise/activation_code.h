// SPDX-License-Identifier: Apache-2.0
// Activations of a fusion as instructions for tiles (eltwise/code.h). Pure functions.
#pragma once

#include "eltwise/code.h"
#include "fuse/activation.h"

namespace gantry::x86 {

/// The instruction slot[to] = activation(slot[from]).
Instruction instruction_of(const Activation& activation, uint32_t from, uint32_t to);

}  // namespace gantry::x86
