// SPDX-License-Identifier: Apache-2.0
// The activations that a claim may have, as instructions for tiles. Pure functions.
#pragma once

#include "eltwise/code.h"
#include "fuse/activation.h"

namespace gantry::x86 {

/// place[to] = activation(place[from]).
Instruction instruction_of(const Activation& activation, uint32_t from, uint32_t to);

}  // namespace gantry::x86
