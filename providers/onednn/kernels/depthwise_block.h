// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution and those of single pixels around it in one kernel.
#pragma once

#include "direct/depthwise_block.h"
#include "kernels/kernels.h"

namespace gantry::onednn {

/// `args.unit` is block.whole().
std::unique_ptr<sdk::Kernel> make_depthwise_block(const KernelArgs& args,
                                                  const DepthwiseBlock& block);

}  // namespace gantry::onednn
