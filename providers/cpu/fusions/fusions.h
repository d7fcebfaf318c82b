// SPDX-License-Identifier: Apache-2.0
// The fused kernels of this provider, one row each.
#pragma once

#include <gantry/sdk/fusion.h>

namespace gantry::cpu {

/// The fused kernels in the order in which they are tried, all before single-node kernels; listed
/// in fusions.def. Any thread.
sdk::FusionTable fusions();

// Each file fusions/<name>.cc defines a function <name>() that returns the row of its kernel.
#define GANTRY_FUSION(name) sdk::FusionRow name();
#include "fusions/fusions.def"
#undef GANTRY_FUSION

}  // namespace gantry::cpu
