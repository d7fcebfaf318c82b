// SPDX-License-Identifier: Apache-2.0
// Convolutions of each channel by itself over two axes, channels innermost, by the provider's own
// kernel, which does what stands behind them too.
#pragma once

#include "../conv_chain.h"
#include "../kernels/window.h"
#include "operators.h"

namespace gantry::cuda {

/// Whether the kernel takes a convolution, not a transposed one, of `dtype` over `spatial` axes.
bool takes_depthwise(const WindowParameters& window, uint32_t dtype, size_t spatial);

/// Where its tensors are.
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
