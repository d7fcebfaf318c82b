// SPDX-License-Identifier: Apache-2.0
#include "conv/conv_shape.h"

#include <gantry/sdk/error.h>

#include <algorithm>

#include "fuse/constants.h"

namespace gantry::x86 {

ConvShape::ConvShape(const GraphIndex& index, const Fusion& fusion)
    : label(index.node(fusion.root).label()), fault(read(index, fusion)) {
  if (!fault.empty()) return;
  if (!has_constant_weights(index, fusion)) fault = "the weights are not constant";
  if (!bias_of(index, fusion, output_channels())) fault = "the bias is not constant";
}

std::string ConvShape::read(const GraphIndex& index, const Fusion& fusion) {
  const sdk::NodeView node = index.node(fusion.root);
  if (node.op_type() == "QLinearConv" && !fusion.is_quantized())
    return "its scales and zero points are not constant";
  const sdk::ValueView source = index.value(fusion.sources[0].value);
  const sdk::ValueView constant = index.value(fusion.weights);
  if (!fusion.is_quantized() && source.dtype() != GANTRY_FLOAT) return "only float32 is taken";
  const int rank = source.rank();
  if (rank < 3 || rank > 5) return "only inputs of rank 3 to 5 are taken";
  if (constant.rank() != rank) return "weights and input differ in rank";
  for (int i = 0; i < rank; ++i) weights.push_back(constant.extent(i));
  if (*std::min_element(weights.begin(), weights.end()) < 1) return "the weights are empty";
  window.kernel.assign(weights.begin() + 2, weights.end());
  if (std::string fault = window.read(node, spatial_rank()); !fault.empty()) return fault;
  groups = node.get_int("group", 1);
  const sdk::ValueView bias = index.value(fusion.bias);
  const bool fits = groups >= 1 && weights[0] % groups == 0 &&
                    std::equal(window.kernel.begin(), window.kernel.end(), weights.begin() + 2) &&
                    (source.extent(1) < 0 || source.extent(1) == input_channels()) &&
                    (bias.rank() != 1 || bias.extent(0) == output_channels());
  return fits ? std::string() : "its shapes do not fit each other";
}

bool ConvShape::is_pointwise() const {
  const auto is_all = [](const Dims& list, int64_t number) {
    return std::count(list.begin(), list.end(), number) == std::ssize(list);
  };
  return groups == 1 && is_all(window.kernel, 1) && is_all(window.strides, 1) &&
         is_all(window.pads_begin, 0) && is_all(window.pads_end, 0);
}

Dims ConvShape::output_of(const Dims& input, const Window::Placed& placed) const {
  Dims output = {input[0], output_channels()};
  output.insert(output.end(), placed.output.begin(), placed.output.end());
  return output;
}

Dims ConvShape::likely_input(const sdk::ValueView& source) const {
  Dims input;
  for (int i = 0; i < source.rank(); ++i) {
    const int64_t extent = i == 1 ? input_channels() : source.extent(i);
    input.push_back(extent > 0 ? extent : i == 0 ? 1 : kGuessedExtent);
  }
  const Dims output = output_of(input, window.place({input.begin() + 2, input.end()}));
  if (*std::min_element(output.begin(), output.end()) < 1) {  // the guess was too small
    for (size_t i = 2; i < input.size(); ++i)
      input[i] = std::max(input[i], window.kernel[i - 2] * window.dilations[i - 2]);
  }
  return input;
}

void ConvShape::check_input(const sdk::Shape& input) const {
  if (input.rank == static_cast<int>(weights.size()) && input[1] == input_channels()) return;
  throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                   label + ": the input was expected to have " + std::to_string(input_channels()) +
                       " channels on axis 1 and rank " + std::to_string(weights.size()) +
                       ", and has " + (input.rank > 1 ? std::to_string(input[1]) : "no axis 1") +
                       " and rank " + std::to_string(input.rank));
}

void ConvShape::check_addend(const sdk::Shape& addend, const sdk::Shape& output) const {
  if (addend == output) return;
  throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                   label + ": the tensor added to the result has another shape than the result");
}

ConvSlots::ConvSlots(const KernelArgs& args)
    : source(static_cast<int>(args.slot_of(args.fusion.sources[0].value))),
      target(static_cast<int>(args.output_slot())),
      source_is_formatted(args.is_input_formatted(static_cast<size_t>(source))),
      target_is_formatted(args.is_output_formatted(static_cast<size_t>(target))),
      source_type(args.fusion.sources[0].type()),
      target_type(args.fusion.target.type()) {
  if (args.fusion.addend.value == GANTRY_NONE) return;
  addend = static_cast<int>(args.slot_of(args.fusion.addend.value));
  addend_is_formatted = args.is_input_formatted(static_cast<size_t>(addend));
  addend_type = args.fusion.addend.type();
}

std::vector<float> folded_bias(const GraphIndex& index, const Fusion& fusion, int64_t channels) {
  std::vector<float> bias = *bias_of(index, fusion, channels);
  for (size_t o = 0; o < fusion.epilogue.scale.size(); ++o)
    bias[o] = bias[o] * fusion.epilogue.scale[o] + fusion.epilogue.shift[o];
  return bias;
}

bool has_dynamic_size(const sdk::ValueView& tensor) {
  for (int axis = 2; axis < tensor.rank(); ++axis) {
    if (tensor.extent(axis) < 0) return true;
  }
  return false;
}

}  // namespace gantry::x86
