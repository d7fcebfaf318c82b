// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution with the 1x1 convolutions around it, as in the inverted residuals of
// MobileNetV2 and in separable convolutions. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fuse/fusion.h"

namespace gantry::x86 {

/// The convolutions of a block, each with its epilogue. Expansion or projection is present, or
/// both.
struct DepthwiseBlock {
  std::optional<Fusion> expansion;  ///< 1x1; its result has the depthwise one as its only reader
  Fusion depthwise;
  std::optional<Fusion> projection;  ///< 1x1; the only reader of the depthwise one's result

  [[nodiscard]] const Fusion& first() const { return expansion ? *expansion : depthwise; }
  [[nodiscard]] const Fusion& last() const { return projection ? *projection : depthwise; }
  /// All nodes as one fusion: the root of the depthwise convolution, the sources of the first
  /// convolution, target and addend of the last one, and no epilogue.
  [[nodiscard]] Fusion whole() const;
};

/// The fusion of a Conv (ai.onnx) that may be fused; nothing for other nodes.
using FusionMaker = std::function<std::optional<Fusion>(uint32_t node)>;

/// The f32 block whose first convolution is `root`, if the intermediate tensors are too large for
/// the L2 cache, and the weights and the rows under a window are not. Nothing: there is none.
std::optional<DepthwiseBlock> depthwise_block_at(const GraphIndex& index, uint32_t root,
                                                 const FusionMaker& fusion_of_conv);

}  // namespace gantry::x86
