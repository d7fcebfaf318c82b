// SPDX-License-Identifier: Apache-2.0
// The kernel of a node that a library's operator runs.
#pragma once

#include <gantry/sdk/kernel.h>

#include <memory>

#include "custom_ops/custom_op.h"

namespace gantry::ort {

/// Makes the library's kernel. sdk::Error: the library's error, with the node as its subject.
std::unique_ptr<sdk::Kernel> make_kernel(std::shared_ptr<const DeclaredOp> op,
                                         const gantry_graph& graph, const gantry_node& node,
                                         const gantry_host* host);

}  // namespace gantry::ort
