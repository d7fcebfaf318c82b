// SPDX-License-Identifier: Apache-2.0
// What a convolution or a product can take into its own pass over the output: the nodes behind it
// that scale, shift, add another tensor or apply a function element by element. Pure functions.
#pragma once

#include <gantry/sdk/pattern.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fuse/activation.h"
#include "fuse/quantization.h"

namespace gantry::x86 {

using sdk::GraphIndex;
using sdk::InputSlot;

/// One step of an epilogue: a function, the rounding to a number of int8 and back, or the
/// addition of another tensor of the output's shape.
struct EpilogueStep {
  std::optional<Activation> activation;
  std::optional<Quantization> rounding;
  uint32_t addend = GANTRY_NONE;  ///< value, if there is neither
};

/// The nodes from an root to the end of its epilogue.
struct Epilogue {
  std::vector<uint32_t> nodes;  ///< ascending, the root among them
  uint32_t output = 0;          ///< value that the last node makes
  /// y = x * scale + shift by channel, before the steps; empty: 1 and 0
  std::vector<float> scale;
  std::vector<float> shift;
  std::vector<EpilogueStep> steps;
  /// value that a step adds; GANTRY_NONE: none
  [[nodiscard]] uint32_t addend() const;
};

/// What an root can take along.
struct RootTraits {
  int rank = 0;               ///< of its output
  int channel_axis = 0;       ///< of its output
  int64_t channels = 0;       ///< by which a scale and a shift can be folded into it; 0: none can
  bool grows = true;          ///< nodes behind it can be done in its pass
  bool adds_tensors = true;   ///< another tensor can be added to its result
  int tensors = 1;            ///< leading inputs that are tensors of the run
  bool is_linear = false;     ///< QLinear...: scales and zero points are among its inputs
  bool is_integer = false;    ///< it makes i32, which become floats behind it
  bool is_quantized = false;  ///< it works on int8 values
  int weights_axis = -1;      ///< of the output channels in input 1, if that has constant weights
};

/// The longest epilogue behind output 0 of `root` of nodes that may be taken.
Epilogue epilogue_of(const GraphIndex& index, uint32_t root, const RootTraits& traits,
                     const std::function<bool(uint32_t node)>& may_take);

/// Factor and addend by channel of a BatchNormalization with constant parameters.
struct Scaling {
  std::vector<float> scale;
  std::vector<float> shift;
};
/// Nothing if the node trains, or its parameters are not constant f32 of `channels` elements.
std::optional<Scaling> normalization_of(const sdk::NodeView& node, int64_t channels);

}  // namespace gantry::x86
