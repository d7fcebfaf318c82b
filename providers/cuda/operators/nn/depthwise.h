// SPDX-License-Identifier: Apache-2.0
// Depthwise 2-D convolution of channels-last tensors, with its epilogue, by the provider's own
// kernel.
#pragma once

#include "fuse/conv_epilogue.h"
#include "kernels/nn/window.h"
#include "operators/operators.h"

namespace gantry::cuda {

/// Whether the kernel takes a convolution (not transposed) of `dtype` over `spatial` axes.
bool takes_depthwise(const WindowParameters& window, uint32_t dtype, size_t spatial);

/// The tensors of the call.
struct DepthwiseBuffers {
  Buffer x;                       ///< [batch, height, width, channels]
  Buffer weights;                 ///< [window's height, window's width, channels]
  Buffer y;                       ///< like x
  const Buffer* bias = nullptr;   ///< [channels]; null: none
  const Buffer* added = nullptr;  ///< like y; null: none
};

/// Adds the launch. Requires takes_depthwise.
void plan_depthwise(Planner& planner, const WindowParameters& window, uint32_t dtype,
                    const ConvEpilogue& epilogue, const DepthwiseBuffers& buffers);

}  // namespace gantry::cuda
