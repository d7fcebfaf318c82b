// SPDX-License-Identifier: Apache-2.0
// The fused kernels of this provider, one row each.
#pragma once

#include <gantry/sdk/fusion.h>

namespace gantry::cpu {

/// In the order in which they are asked, before single nodes; listed in fusions.def. [any]
sdk::FusionTable fusions();

// What each file fusions/<name>.cc has: the row of its kernel.
#define GANTRY_FUSION(name) sdk::FusionRow name();
#include "fusions/fusions.def"
#undef GANTRY_FUSION

}  // namespace gantry::cpu
