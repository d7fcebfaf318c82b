// SPDX-License-Identifier: Apache-2.0
// Attributes and shapes of a ConvTranspose, which all its implementations share.
#pragma once

#include <cstdint>
#include <string>

#include "conv/window.h"
#include "fuse/fusion.h"

namespace gantry::x86 {

/// The node's attributes and the extents of its weights.
struct ConvTransposeShape {
  Window window;
  Dims output_padding;
  Dims weights;       ///< [I, O, kernel...]
  std::string label;  ///< of the node, for messages
  std::string fault;  ///< why the provider refuses it; empty: it does not

  ConvTransposeShape(const GraphIndex& index, uint32_t root);

  [[nodiscard]] size_t spatial_rank() const { return weights.size() - 2; }
  [[nodiscard]] int64_t input_channels() const { return weights[0]; }
  [[nodiscard]] int64_t output_channels() const { return weights[1]; }
  /// [N, O, spatial...]; an extent is 0 or less if padding removes the whole output.
  [[nodiscard]] Dims output_of(const Dims& input) const;
  /// Most multiply-adds of an output element.
  [[nodiscard]] int64_t products() const;
  [[nodiscard]] int64_t pad_end(size_t axis) const {
    return window.pads_end[axis] - output_padding[axis];
  }

  /// Fails unless the input of a run fits the weights. Errors: INVALID_ARGUMENT.
  void check_input(const sdk::Shape& input) const;
  /// Fails unless the tensor that is added has the shape of the result. Errors: INVALID_ARGUMENT.
  void check_addend(const sdk::Shape& addend, const sdk::Shape& output) const;

 private:
  [[nodiscard]] std::string read(const GraphIndex& index, uint32_t root);
};

}  // namespace gantry::x86
