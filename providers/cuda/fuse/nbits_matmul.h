// SPDX-License-Identifier: Apache-2.0
// Which MatMulNBits nodes the kernels take: matrices of 4 or 8 bits in blocks. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <string>

namespace gantry::cuda {

/// Why the kernels do not take a MatMulNBits node, in a sentence without a full stop; empty: they
/// do.
std::string nbits_matmul_refusal(const sdk::NodeView& node);
/// Whether a node is a MatMulNBits that the kernels take, with constant weights and scales.
bool is_constant_nbits_matmul(const sdk::NodeView& node);

}  // namespace gantry::cuda
