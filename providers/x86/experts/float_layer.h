// SPDX-License-Identifier: Apache-2.0
// A layer of MoE: the experts' matrices are f32.
#pragma once

#include <memory>
#include <string>

#include "experts/layer.h"

namespace gantry::x86 {

/// Of the weights' extents. Requires weights of rank 3.
LayerShape float_layer_shape(const sdk::NodeView& node, const LayerInputs& inputs);

/// Why a layer cannot be packed, a sentence without a final stop; empty: it can.
std::string float_layer_refusal(const sdk::NodeView& node, const LayerInputs& inputs);

/// Requires that float_layer_refusal is empty. `are_pairs`: as of LayerWeights.
std::unique_ptr<ExpertLayer> make_float_layer(const gantry_host* host, const sdk::NodeView& node,
                                              const LayerInputs& inputs, bool are_pairs);

}  // namespace gantry::x86
