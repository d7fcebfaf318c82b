// SPDX-License-Identifier: Apache-2.0
// What a convolution or a product can take into its own pass over the output: the nodes behind it
// that scale, shift, add another tensor or apply a function element by element. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "activation.h"
#include "quantization.h"

namespace gantry::onednn {

using sdk::GraphIndex;
using sdk::InputSlot;

/// One step of an epilogue: a function, the rounding to a number of 8 bits and back, or the
/// addition of another tensor of the output's shape.
struct EpilogueStep {
  std::optional<Activation> activation;
  std::optional<Quantization> rounding;
  uint32_t addend = GANTRY_NONE;  ///< value, if there is neither
};

/// The nodes from an anchor to the end of its chain.
struct Chain {
  std::vector<uint32_t> nodes;  ///< ascending, the anchor among them
  uint32_t output = 0;          ///< value that the last node makes
  /// y = x * scale + shift by channel, before the steps; empty: 1 and 0
  std::vector<float> scale;
  std::vector<float> shift;
  std::vector<EpilogueStep> steps;
  /// value that a step adds; GANTRY_NONE: none
  [[nodiscard]] uint32_t addend() const;
};

/// What an anchor can take along.
struct AnchorTraits {
  int rank = 0;               ///< of its output
  int channel_axis = 0;       ///< of its output
  int64_t channels = 0;       ///< by which a scale and a shift can be folded into it; 0: none can
  bool grows = true;          ///< nodes behind it can be done in its pass
  bool adds_tensors = true;   ///< another tensor can be added to its result
  int tensors = 1;            ///< leading inputs that are tensors of the run
  bool is_linear = false;     ///< QLinear...: scales and zero points are among its inputs
  bool is_integer = false;    ///< it makes i32, which become floats behind it
  bool is_quantized = false;  ///< it works on numbers of 8 bits
  int weights_axis = -1;      ///< of the output channels in input 1, if that has constant weights
};

/// The longest chain behind output 0 of `anchor` of nodes that may be taken.
Chain chain_of(const GraphIndex& index, uint32_t anchor, const AnchorTraits& traits,
               const std::function<bool(uint32_t node)>& may_take);

/// Factor and addend by channel of a BatchNormalization with constant parameters.
struct Scaling {
  std::vector<float> scale;
  std::vector<float> shift;
};
/// Nothing if the node trains, or its parameters are not constant f32 of `channels` elements.
std::optional<Scaling> normalization_of(const sdk::NodeView& node, int64_t channels);

/// True if both values have the same shape in every run, as far as the graph tells.
bool has_same_shape(const GraphIndex& index, uint32_t a, uint32_t b);

}  // namespace gantry::onednn
