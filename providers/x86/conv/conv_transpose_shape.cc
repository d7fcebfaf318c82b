// SPDX-License-Identifier: Apache-2.0
#include "conv/conv_transpose_shape.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace gantry::x86 {

ConvTransposeShape::ConvTransposeShape(const GraphIndex& index, uint32_t root)
    : label(index.node(root).label()) {
  fault = read(index, root);
}

std::string ConvTransposeShape::read(const GraphIndex& index, uint32_t root) {
  const sdk::NodeView node = index.node(root);
  const sdk::ValueView source = node.input(0);
  const sdk::ValueView constant = node.input(1);
  const int rank = source.rank();
  if (rank < 3 || rank > 5 || constant.rank() != rank)
    return "only inputs of rank 3 to 5 are taken, and weights of the same";
  for (int i = 0; i < rank; ++i) weights.push_back(constant.extent(i));
  window.kernel.assign(weights.begin() + 2, weights.end());
  output_padding = node.get_ints("output_padding", Dims(spatial_rank(), 0));
  if (std::string wrong = window.read(node, spatial_rank()); !wrong.empty()) return wrong;
  if (!std::equal(window.kernel.begin(), window.kernel.end(), weights.begin() + 2) ||
      output_padding.size() != spatial_rank() ||
      (source.extent(1) >= 0 && source.extent(1) != weights[0]))
    return "its shapes do not fit each other";
  if (window.automatic != Window::Auto::kNone || !node.get_ints("output_shape", {}).empty())
    return "the padding follows from the output's shape";
  if (node.get_int("group", 1) != 1) return "only one group is taken";
  if (*std::min_element(weights.begin(), weights.end()) < 1) return "the weights are empty";
  for (size_t i = 0; i < spatial_rank(); ++i) {
    // What is added to the output is subtracted from the padding, which must not be negative.
    if (output_padding[i] < 0 || output_padding[i] > window.pads_end[i])
      return "more is added to the output than the padding takes away";
  }
  return {};
}

Dims ConvTransposeShape::output_of(const Dims& input) const {
  Dims output = {input[0], weights[1]};
  for (size_t i = 0; i < spatial_rank(); ++i) {
    const int64_t extent =
        (input[i + 2] - 1) * window.strides[i] + window.dilations[i] * (window.kernel[i] - 1) + 1;
    output.push_back(input[i + 2] < 1 ? 0 : extent - window.pads_begin[i] - pad_end(i));
  }
  return output;
}

int64_t ConvTransposeShape::products() const {
  return std::accumulate(window.kernel.begin(), window.kernel.end(), weights[0],
                         std::multiplies<>());
}

void ConvTransposeShape::check_input(const sdk::Shape& input) const {
  if (input.rank == static_cast<int>(weights.size()) && input[1] == weights[0]) return;
  throw sdk::Error(GANTRY_INVALID_ARGUMENT, label + ": the input was expected to have rank " +
                                                std::to_string(weights.size()) + " and " +
                                                std::to_string(weights[0]) + " channels on axis 1");
}

void ConvTransposeShape::check_addend(const sdk::Shape& addend, const sdk::Shape& output) const {
  if (addend == output) return;
  throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                   label + ": the tensor added to the result has another shape than the result");
}

}  // namespace gantry::x86
