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
    const uint32_t producer = index_.producer(value);
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

// Of a QLinearConv or QLinearMatMul, whose inputs are: a tensor, its scale and zero point, the
// weights with theirs, scale and zero point of the result, and a bias. Sources without a
// quantization: they are not known when the model is loaded.
Unit unit_of_linear(const GraphIndex& index, uint32_t anchor, int weights_axis) {
  const sdk::NodeView node = index.node(anchor);
  const gantry_node& raw = index.raw(anchor);
  Unit unit = unit_of_one(index, anchor);
  if (raw.input_count < 8) return unit;
  unit.sources = {{raw.inputs[0], std::nullopt}};
  unit.weights = raw.inputs[3];
  if (raw.input_count > 8) unit.bias = raw.inputs[8];
  const auto source = quantization_of(type_of(node.input(0).dtype()), node.input(1), node.input(2));
  const auto target =
      quantization_of(type_of(node.output(0).dtype()), node.input(6), node.input(7));
  unit.weight_quantization =
      weight_quantization_of(node.input(3), weights_axis, node.input(4), node.input(5));
  if (!source || !target || !unit.weight_quantization) return unit;
  unit.sources[0].quantization = source;
  unit.target.quantization = target;
  return unit;
}

// True for one number, or one for each of `channels` along the last axis.
bool is_scale(const sdk::ValueView& value, int64_t channels) {
  if (value.dtype() != GANTRY_FLOAT || value.rank() < 0) return false;
  for (int i = 0; i < value.rank(); ++i) {
    const bool is_last = i + 1 == value.rank();
    if (value.extent(i) != 1 && (!is_last || value.extent(i) != channels)) return false;
  }
  return true;
}

// Of a MatMulInteger: its result is cast to floats and multiplied, and that has a chain.
Unit unit_of_integer(const GraphIndex& index, uint32_t anchor, const AnchorTraits& traits,
                     const std::function<bool(uint32_t)>& may_take) {
  const sdk::NodeView node = index.node(anchor);
  const gantry_node& raw = index.raw(anchor);
  Unit unit = unit_of_one(index, anchor);
  unit.sources = {{raw.inputs[0], std::nullopt}};
  if (raw.input_count > kWeights) unit.weights = raw.inputs[kWeights];
  if (raw.input_count > 2) unit.zero_point = raw.inputs[2];
  unit.weight_quantization = weight_quantization_of(
      node.input(1), traits.weights_axis, sdk::ValueView(index.host(), nullptr), node.input(3));
  const uint32_t cast = index.only_reader(raw.outputs[0]);
  if (cast == GANTRY_NONE || !may_take(cast) || index.node(cast).op_type() != "Cast" ||
      index.node(cast).output(0).dtype() != GANTRY_FLOAT)
    return unit;
  const uint32_t floats = index.raw(cast).outputs[0];
  const uint32_t scaling = index.only_reader(floats);
  if (scaling == GANTRY_NONE || !may_take(scaling) || index.node(scaling).op_type() != "Mul" ||
      index.node(scaling).since_version() < 7)
    return unit;
  const gantry_node& mul = index.raw(scaling);
  const uint32_t scale = mul.inputs[mul.inputs[0] == floats ? 1 : 0];
  if (scale == floats || !is_scale(index.value(scale), traits.channels)) return unit;
  Chain chain = chain_of(index, scaling, traits, may_take);
  const bool is_scaled =
      std::any_of(chain.scale.begin(), chain.scale.end(), [](float factor) { return factor != 1; });
  if (is_scaled) {  // only a bias is folded
    AnchorTraits own = traits;
    own.channels = 0;
    chain = chain_of(index, scaling, own, may_take);
  }
  unit.scale = scale;
  unit.chain = std::move(chain);
  unit.chain.nodes.insert(unit.chain.nodes.end(), {anchor, cast});
  std::sort(unit.chain.nodes.begin(), unit.chain.nodes.end());
  unit.nodes = unit.chain.nodes;
  unit.target.value = unit.chain.output;
  return unit;
}

}  // namespace

Unit unit_of(const GraphIndex& index, uint32_t anchor, const AnchorTraits& traits,
             const std::function<bool(uint32_t)>& may_take) {
  if (traits.is_integer) return unit_of_integer(index, anchor, traits, may_take);
  if (traits.is_linear) return unit_of_linear(index, anchor, traits.weights_axis);
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

void take_shuffle(const GraphIndex& index, Unit& unit,
                  const std::function<bool(uint32_t)>& may_take) {
  unit.shuffle = shuffle_of(index, unit.sources[0].value, may_take);
  if (!unit.shuffle) return;
  unit.sources[0].value = unit.shuffle->source;
  unit.nodes.insert(unit.nodes.end(), unit.shuffle->nodes.begin(), unit.shuffle->nodes.end());
  std::sort(unit.nodes.begin(), unit.nodes.end());
}

bool may_replace_addend(const GraphIndex& index, const Unit& unit) {
  const uint32_t addend = unit.addend.value;
  if (addend == GANTRY_NONE || unit.addend.type() != unit.target.type() ||
      index.producer(addend) == GANTRY_NONE || index.is_output(addend))
    return false;
  // The host runs nodes in their order.
  return index.readers(addend).back() <= unit.nodes.back();
}

std::optional<std::vector<float>> bias_of(const GraphIndex& index, const Unit& unit,
                                          int64_t channels) {
  if (unit.bias == GANTRY_NONE) return std::vector<float>(static_cast<size_t>(channels), 0);
  if (unit.bias_node != GANTRY_NONE)
    return dequantized_vector(index.node(unit.bias_node), channels);
  const sdk::ValueView value = index.value(unit.bias);
  if (unit.is_quantized() && unit.weight_quantization && value.dtype() == GANTRY_INT32) {
    const auto numbers = integers_of(value);
    if (!numbers || static_cast<int64_t>(numbers->size()) != channels) return std::nullopt;
    std::vector<float> bias = unit.weight_quantization->scales;
    for (size_t i = 0; i < bias.size(); ++i)
      bias[i] *= unit.sources[0].quantization->scale * static_cast<float>((*numbers)[i]);
    return bias;
  }
  return along_axis(value, value.rank(), value.rank() - 1, channels);
}

bool has_constant_weights(const GraphIndex& index, const Unit& unit) {
  return unit.weight_quantization.has_value() || is_constant_f32(index.value(unit.weights));
}

}  // namespace gantry::onednn
