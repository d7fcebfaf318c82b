// SPDX-License-Identifier: Apache-2.0
// The weights of one layer of all experts of a QMoE node: a matrix of 2, 4 or 8 bits in blocks for
// each expert.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <string>
#include <vector>

#include "matmul/nbits/weights.h"

namespace gantry::x86 {

/// Inputs of a QMoE node that belong to a layer, by position.
struct LayerInputs {
  const char* name;  ///< as ONNX Runtime's documentation has it: "fc1"
  int weights;       ///< uint8 [experts, columns, inner * bits / 8], low bits first
  int scales;        ///< f32 [experts, columns] or, in blocks, [experts, columns, blocks]
  int bias;          ///< f32 [experts, columns]; optional
  int zeros;         ///< as the scales, packed as the weights are along the last axis; optional
};

/// A layer as the node describes it.
struct LayerShape {
  int64_t experts = 0;
  int64_t columns = 0;  ///< numbers of a result
  int64_t inner = 0;    ///< numbers of a row
  int bits = 4;
  int64_t block_size = 0;  ///< of the node; 0: a scale for each column
};

/// Of the weights' shape and the node's attributes. Requires a constant of rank 3.
LayerShape layer_shape_of(const sdk::NodeView& node, const LayerInputs& inputs);

/// Why a layer cannot be packed, a sentence without a final stop; empty: it can.
std::string layer_refusal(const sdk::NodeView& node, const LayerInputs& inputs);

/// A layer as products read it.
struct ExpertLayer {
  BlockShape shape;  ///< of each matrix
  std::vector<BlockWeights> matrices;
  std::vector<float> bias;  ///< [experts, columns]; empty: none
};

/// Requires that layer_refusal is empty. `are_pairs`: columns 2i and 2i + 1 of the node, gate and
/// linear part of SwiGLU, become columns i and columns / 2 + i.
ExpertLayer pack_layer(const gantry_host* host, const sdk::NodeView& node,
                       const LayerInputs& inputs, bool are_pairs);

}  // namespace gantry::x86
