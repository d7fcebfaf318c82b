// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution with the convolutions of single pixels around it, as mobile networks
// stack them (inverted residuals, separable convolutions). Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "unit.h"

namespace gantry::onednn {

/// One of the two around the depthwise convolution is there, or both are.
struct DepthwiseBlock {
  std::optional<Unit> expansion;  ///< makes the depthwise one's source, for nobody else
  Unit depthwise;
  std::optional<Unit> projection;  ///< reads the depthwise one's result, as nobody else does

  [[nodiscard]] const Unit& first() const { return expansion ? *expansion : depthwise; }
  [[nodiscard]] const Unit& last() const { return projection ? *projection : depthwise; }
  /// All nodes as one unit, whose anchor is that of the depthwise convolution: the first one's
  /// source, the last one's target and addend, and no chain.
  [[nodiscard]] Unit whole() const;
};

/// The unit of a node that is a Conv of ai.onnx and may be taken.
using UnitMaker = std::function<std::optional<Unit>(uint32_t node)>;

/// The block whose first convolution is `anchor`, in f32, if what stands between its convolutions
/// is so large that it pays not to write it. Nothing: there is none.
std::optional<DepthwiseBlock> depthwise_block_at(const GraphIndex& index, uint32_t anchor,
                                                 const UnitMaker& unit_of_conv);

}  // namespace gantry::onednn
