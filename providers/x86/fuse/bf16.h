// SPDX-License-Identifier: Apache-2.0
// Where it pays to multiply in bf16. Pure but for what they know of the CPU. [any]
#pragma once

#include "fuse/fusion.h"
#include "options.h"

namespace gantry::x86 {

/// UNSUPPORTED: the options ask for bf16, and the CPU, or what ONEDNN_MAX_CPU_ISA leaves of it, has
/// no instructions for it.
void require_instructions(const Options& options);

/// True if the options ask for bf16 and a fusion gains by it: its weights are constant, and they
/// are what a few rows wait for, or the CPU multiplies faster in bf16.
bool is_worth_bf16(const GraphIndex& index, const Fusion& fusion, const Options& options);

}  // namespace gantry::x86
