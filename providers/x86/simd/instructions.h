// SPDX-License-Identifier: Apache-2.0
// Code written with Highway is compiled for several instruction sets (Highway targets), and the
// first call chooses one by the CPU. ONEDNN_MAX_CPU_ISA limits that choice, as it does for oneDNN.
#pragma once

namespace gantry::x86 {

/// Excludes Highway targets that ONEDNN_MAX_CPU_ISA forbids. Call it before every dynamic dispatch;
/// only the first call of the process has an effect. [any]
void keep_to_allowed_instructions();

}  // namespace gantry::x86
