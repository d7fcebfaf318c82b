// SPDX-License-Identifier: Apache-2.0
// Highway's choice of instructions, held to what oneDNN may use.
#pragma once

namespace gantry::x86 {

/// Before the first call of code that Highway chooses: leaves out what ONEDNN_MAX_CPU_ISA forbids
/// to the library. [any]
void keep_to_allowed_instructions();

}  // namespace gantry::x86
