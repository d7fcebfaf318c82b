// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution with the 1x1 convolutions around it, as mobile networks
// stack them (inverted residuals, separable convolutions). Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fuse/fusion.h"

namespace gantry::x86 {

/// One of the two around the depthwise convolution is there, or both are.
struct DepthwiseBlock {
  std::optional<Fusion> expansion;  ///< makes the depthwise one's source, for nobody else
  Fusion depthwise;
  std::optional<Fusion> projection;  ///< reads the depthwise one's result, as nobody else does

  [[nodiscard]] const Fusion& first() const { return expansion ? *expansion : depthwise; }
  [[nodiscard]] const Fusion& last() const { return projection ? *projection : depthwise; }
  /// All nodes as one fusion, whose root is that of the depthwise convolution: the first one's
  /// source, the last one's target and addend, and no epilogue.
  [[nodiscard]] Fusion whole() const;
};

/// The fusion of a node that is a Conv of ai.onnx and may be taken.
using FusionMaker = std::function<std::optional<Fusion>(uint32_t node)>;

/// The block whose first convolution is `root`, in f32, if what stands between its convolutions
/// is so large that it pays not to write it. Nothing: there is none.
std::optional<DepthwiseBlock> depthwise_block_at(const GraphIndex& index, uint32_t root,
                                                 const FusionMaker& fusion_of_conv);

}  // namespace gantry::x86
