// SPDX-License-Identifier: Apache-2.0
// A layer of QMoE: the experts' matrices stay in 2, 4 or 8 bits in memory, in blocks that share a
// scale. Inputs of a layer: weights uint8 [experts, columns, inner * bits / 8], low bits first;
// scales f32 [experts, columns] or, in blocks, [experts, columns, blocks]; zero points (optional)
// as the scales, packed as the weights are along the last axis.
#pragma once

#include <memory>
#include <string>

#include "experts/layer.h"

namespace gantry::x86 {

/// Of the weights' extents and the node's attributes. Requires weights of rank 3.
LayerShape block_layer_shape(const sdk::NodeView& node, const LayerInputs& inputs);

/// Why a layer cannot be packed, a sentence without a final stop; empty: it can.
std::string block_layer_refusal(const sdk::NodeView& node, const LayerInputs& inputs);

/// Requires that block_layer_refusal is empty. `are_pairs`: as of LayerWeights.
std::unique_ptr<ExpertLayer> make_block_layer(const gantry_host* host, const sdk::NodeView& node,
                                              const LayerInputs& inputs, bool are_pairs);

}  // namespace gantry::x86
