// SPDX-License-Identifier: Apache-2.0
// The epilogue of a convolution or matmul: the nodes after it that its kernel applies to each
// result before it stores it. They scale and shift by channel, add another tensor or apply an
// activation. Pure functions.
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

/// One step of an epilogue. Exactly one member is set.
struct EpilogueStep {
  std::optional<Activation> activation;
  std::optional<Quantization> rounding;  ///< QuantizeLinear, then DequantizeLinear
  uint32_t addend = GANTRY_NONE;         ///< value of the output's shape that is added
};

/// The nodes from a root to the end of its epilogue.
struct Epilogue {
  std::vector<uint32_t> nodes;  ///< ascending, with the root
  uint32_t output = 0;          ///< value that the last node makes
  /// y = x * scale + shift, one element per channel, applied before the steps; empty: identity
  std::vector<float> scale;
  std::vector<float> shift;
  std::vector<EpilogueStep> steps;
  /// Value that a step adds (at most one does); GANTRY_NONE: none.
  [[nodiscard]] uint32_t addend() const;
};

/// What can be fused with a root node.
struct RootTraits {
  int rank = 0;               ///< of its output
  int channel_axis = 0;       ///< of its output
  int64_t channels = 0;       ///< of its output; 0: no scale or shift can be folded into weights
  bool grows = true;          ///< it can have an epilogue
  bool adds_tensors = true;   ///< the epilogue may add another tensor
  int tensors = 1;            ///< leading inputs that are activations, not weights
  bool is_linear = false;     ///< QLinear...: scales and zero points are among its inputs
  bool is_integer = false;    ///< MatMulInteger: it makes i32, which a Cast and a Mul dequantize
  bool is_quantized = false;  ///< its operands are int8
  int weights_axis = -1;      ///< output channels of input 1, the weights; -1: it has no weights
};

/// The longest epilogue after output 0 of `root`, of nodes that `may_take` allows.
Epilogue epilogue_of(const GraphIndex& index, uint32_t root, const RootTraits& traits,
                     const std::function<bool(uint32_t node)>& may_take);

/// A BatchNormalization as y = x * scale + shift, one element per channel.
struct Scaling {
  std::vector<float> scale;
  std::vector<float> shift;
};
/// The scaling of a BatchNormalization (ai.onnx, every version). Nothing in training mode, or if
/// its parameters are not constant f32 of `channels` elements.
std::optional<Scaling> normalization_of(const sdk::NodeView& node, int64_t channels);

}  // namespace gantry::x86
