// SPDX-License-Identifier: Apache-2.0
// Attributes and shapes of a Conv, which all its implementations share.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>

#include "conv/window.h"
#include "fuse/fusion.h"
#include "fuse/kernels.h"

namespace gantry::x86 {

constexpr int64_t kGuessedExtent = 56;  // of a spatial axis whose extent is dynamic

/// The node's attributes and the extents of its weights.
struct ConvShape {
  Window window;
  int64_t groups = 1;
  Dims weights;       ///< [O, I / groups, kernel...]
  std::string label;  ///< of the node, for messages
  std::string fault;  ///< why no implementation runs it; empty: one does

  ConvShape(const GraphIndex& index, const Fusion& fusion);

  [[nodiscard]] size_t spatial_rank() const { return weights.size() - 2; }
  [[nodiscard]] int64_t input_channels() const { return weights[1] * groups; }
  [[nodiscard]] int64_t output_channels() const { return weights[0]; }
  /// True of a 1x1 (pointwise) convolution: one group, no strides, no padding.
  [[nodiscard]] bool is_pointwise() const;
  /// Multiply-adds per output element.
  [[nodiscard]] int64_t products() const {
    return std::accumulate(weights.begin() + 1, weights.end(), int64_t{1}, std::multiplies<>());
  }
  /// [N, O, spatial...]; a spatial extent is 0 if no window fits.
  [[nodiscard]] Dims output_of(const Dims& input, const Window::Placed& placed) const;
  /// The extents of an input; dynamic ones are guessed so that a window fits.
  [[nodiscard]] Dims likely_input(const sdk::ValueView& source) const;

  /// Fails unless the input of a run fits the weights. Errors: INVALID_ARGUMENT.
  void check_input(const sdk::Shape& input) const;
  /// Fails unless the tensor that is added has the shape of the result. Errors: INVALID_ARGUMENT.
  void check_addend(const sdk::Shape& addend, const sdk::Shape& output) const;

 private:
  [[nodiscard]] std::string read(const GraphIndex& index, const Fusion& fusion);
};

/// The slots of a convolution's tensors, their dtypes, and which of them are channels-last.
struct ConvSlots {
  int source = 0;
  int target = 0;
  int addend = -1;  ///< -1: nothing is added
  bool source_is_formatted = false;
  bool target_is_formatted = false;
  bool addend_is_formatted = false;
  bool source_takes_any_order = false;  ///< the source is not reordered
  Type source_type;
  Type target_type;
  Type addend_type = Type::undef;

  explicit ConvSlots(const KernelArgs& args);
};

/// True if the model leaves a spatial extent of a tensor [N, C, spatial...] open.
bool has_dynamic_size(const sdk::ValueView& tensor);

/// The bias, [channels], with the epilogue's scale and shift applied. Requires a constant bias.
std::vector<float> folded_bias(const GraphIndex& index, const Fusion& fusion, int64_t channels);

}  // namespace gantry::x86
