// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <algorithm>

#include "constants.h"

namespace gantry::onednn {
namespace {

constexpr uint32_t kWeights = 1;  // position of an anchor's weights among its inputs
constexpr uint32_t kBias = 2;

/// Adds to a unit what is quantized around its chain.
class Surroundings {
 public:
  Surroundings(const GraphIndex& index, const AnchorTraits& traits,
               const std::function<bool(uint32_t)>& may_take, uint32_t anchor)
      : index_(index), traits_(traits), may_take_(may_take), anchor_(anchor) {}

  /// False: the anchor works on floats, and nothing is changed.
  bool take_operands(Unit& unit) const {
    const gantry_node& raw = index_.raw(anchor_);
    std::vector<uint32_t> taken;
    for (int i = 0; i < traits_.tensors; ++i) {
      const uint32_t node = dequantizer(raw.inputs[i]);
      const auto quantization =
          node == GANTRY_NONE ? std::nullopt : quantization_of(index_.node(node));
      if (!quantization) return false;
      taken.push_back(node);
      unit.sources[static_cast<size_t>(i)] = {index_.raw(node).inputs[0], quantization};
    }
    if (traits_.weights_axis >= 0 && !take_weights(unit, taken)) {
      unit.sources = plain_sources();
      return false;
    }
    unit.nodes.insert(unit.nodes.end(), taken.begin(), taken.end());
    return true;
  }

  /// What dequantizes the tensor that the chain adds, and what quantizes the result.
  void take_ends(Unit& unit) const {
    if (unit.addend.value != GANTRY_NONE) {
      const uint32_t node = dequantizer(unit.addend.value);
      const auto quantization =
          node == GANTRY_NONE ? std::nullopt : quantization_of(index_.node(node));
      if (quantization) {
        unit.nodes.push_back(node);
        unit.addend = {index_.raw(node).inputs[0], quantization};
      }
    }
    const uint32_t reader = index_.only_reader(unit.chain.output);
    if (reader == GANTRY_NONE || !may_take_(reader) ||
        index_.node(reader).op_type() != "QuantizeLinear" ||
        index_.raw(reader).inputs[0] != unit.chain.output)
      return;
    const auto quantization = quantization_of(index_.node(reader));
    if (!quantization) return;
    unit.nodes.push_back(reader);
    unit.target = {index_.raw(reader).outputs[0], quantization};
  }

  [[nodiscard]] std::vector<Port> plain_sources() const {
    const gantry_node& raw = index_.raw(anchor_);
    std::vector<Port> ports;
    for (uint32_t i = 0; i < static_cast<uint32_t>(traits_.tensors) && i < raw.input_count; ++i)
      ports.push_back({raw.inputs[i], std::nullopt});
    return ports;
  }

 private:
  // The DequantizeLinear that makes a value for one reader alone and may be taken.
  [[nodiscard]] uint32_t dequantizer(uint32_t value) const {
    if (value == GANTRY_NONE || index_.only_reader(value) == GANTRY_NONE) return GANTRY_NONE;
    const uint32_t producer = index_.graph().values[value]->producer;
    if (producer == GANTRY_NONE || !may_take_(producer) ||
        index_.node(producer).op_type() != "DequantizeLinear")
      return GANTRY_NONE;
    return producer;
  }

  bool take_weights(Unit& unit, std::vector<uint32_t>& taken) const {
    const gantry_node& raw = index_.raw(anchor_);
    if (raw.input_count <= kWeights) return false;
    const uint32_t node = dequantizer(raw.inputs[kWeights]);
    if (node == GANTRY_NONE) return false;
    auto quantization = weight_quantization_of(index_.node(node), traits_.weights_axis);
    if (!quantization) return false;
    taken.push_back(node);
    unit.weights = index_.raw(node).inputs[0];
    unit.weight_quantization = std::move(quantization);
    if (unit.bias == GANTRY_NONE || index_.value(unit.bias).is_constant()) return true;
    const uint32_t bias = dequantizer(unit.bias);
    if (bias == GANTRY_NONE || !index_.node(bias).input(0).is_constant()) return false;
    taken.push_back(bias);
    unit.bias_node = bias;
    return true;
  }

  const GraphIndex& index_;
  const AnchorTraits& traits_;
  const std::function<bool(uint32_t)>& may_take_;
  uint32_t anchor_;
};

}  // namespace

Unit unit_of(const GraphIndex& index, uint32_t anchor, const AnchorTraits& traits,
             const std::function<bool(uint32_t)>& may_take) {
  const gantry_node& raw = index.raw(anchor);
  Unit unit;
  unit.anchor = anchor;
  if (traits.weights_axis >= 0) {
    if (raw.input_count > kWeights) unit.weights = raw.inputs[kWeights];
    if (raw.input_count > kBias) unit.bias = raw.inputs[kBias];
  }
  const Surroundings around(index, traits, may_take, anchor);
  unit.sources = around.plain_sources();
  AnchorTraits own = traits;
  // What is folded into floats cannot be folded into 8 bits.
  own.is_quantized = around.take_operands(unit);
  if (own.is_quantized) own.channels = 0;
  unit.chain = chain_of(index, anchor, own, may_take);
  unit.nodes.insert(unit.nodes.end(), unit.chain.nodes.begin(), unit.chain.nodes.end());
  unit.addend.value = unit.chain.addend();
  unit.target.value = unit.chain.output;
  if (unit.is_quantized()) around.take_ends(unit);
  std::sort(unit.nodes.begin(), unit.nodes.end());
  return unit;
}

Unit unit_of_one(const GraphIndex& index, uint32_t node) {
  Unit unit;
  unit.anchor = node;
  unit.nodes = {node};
  unit.chain.nodes = {node};
  unit.chain.output = index.raw(node).outputs[0];
  unit.target.value = unit.chain.output;
  return unit;
}

std::optional<std::vector<float>> bias_of(const GraphIndex& index, const Unit& unit,
                                          int64_t channels) {
  if (unit.bias == GANTRY_NONE) return std::vector<float>(static_cast<size_t>(channels), 0);
  if (unit.bias_node != GANTRY_NONE)
    return dequantized_vector(index.node(unit.bias_node), channels);
  const sdk::ValueView value = index.value(unit.bias);
  return along_axis(value, value.rank(), value.rank() - 1, channels);
}

bool has_constant_weights(const GraphIndex& index, const Unit& unit) {
  return unit.weight_quantization.has_value() || is_constant_f32(index.value(unit.weights));
}

}  // namespace gantry::onednn
