// SPDX-License-Identifier: Apache-2.0
// The list of the families of operators. A new family is a line in the source.
#pragma once

#include <gantry/sdk/fusion.h>
#include <gantry/sdk/rows.h>

#include <vector>

namespace gantry::cuda {

/// The kernel rows of all operators that are not element-wise.
std::vector<sdk::KernelTable> all_kernels();

/// The rows of fused kernels, in the order in which they are asked: of two claims of the same nodes
/// the earlier is preferred. Each match is a Fusion.
sdk::FusionTable all_fusions();

}  // namespace gantry::cuda
