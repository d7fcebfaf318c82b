// SPDX-License-Identifier: Apache-2.0
// The kernel rows of every family of operators. Each table is defined at the foot of the file that
// implements the family, and marked cold, so that the linker places them together and loading the
// library does not page in the code of every family.
#pragma once

#include <gantry/sdk/rows.h>

#include <vector>

namespace gantry::cpu {

#define GANTRY_FAMILY(folder, name) [[gnu::cold]] sdk::KernelTable name##_kernels();
#include "families.def"
#undef GANTRY_FAMILY

/// All tables. If several rows accept a node, the first in this order is used.
std::vector<sdk::KernelTable> all_kernels();

}  // namespace gantry::cpu
