// SPDX-License-Identifier: Apache-2.0
#include "fuse/fusion.h"

#include <algorithm>

#include "fuse/constants.h"

namespace gantry::x86 {
namespace {

constexpr uint32_t kWeights = 1;  // position of a root's weights among its inputs
constexpr uint32_t kBias = 2;

/// Adds the QuantizeLinear and DequantizeLinear nodes around a root and its epilogue to a fusion.
class Surroundings {
 public:
  Surroundings(const GraphIndex& index, const RootTraits& traits,
               const std::function<bool(uint32_t)>& may_take, uint32_t root)
      : index_(index), traits_(traits), may_take_(may_take), root_(root) {}

  /// False: the root works on floats, and nothing is changed.
  bool take_operands(Fusion& fusion) const {
    const gantry_node& raw = index_.raw(root_);
    std::vector<uint32_t> taken;
    for (int i = 0; i < traits_.tensors; ++i) {
      const uint32_t node = dequantizer(raw.inputs[i]);
      const auto quantization =
          node == GANTRY_NONE ? std::nullopt : quantization_of(index_.node(node));
      if (!quantization) return false;
      taken.push_back(node);
      fusion.sources[static_cast<size_t>(i)] = {index_.raw(node).inputs[0], quantization};
    }
    if (traits_.weights_axis >= 0 && !take_weights(fusion, taken)) {
      fusion.sources = plain_sources();
      return false;
    }
    fusion.nodes.insert(fusion.nodes.end(), taken.begin(), taken.end());
    return true;
  }

  /// Fuses the DequantizeLinear of the epilogue's addend and the QuantizeLinear of the result.
  void take_ends(Fusion& fusion) const {
    if (fusion.addend.value != GANTRY_NONE) {
      const uint32_t node = dequantizer(fusion.addend.value);
      const auto quantization =
          node == GANTRY_NONE ? std::nullopt : quantization_of(index_.node(node));
      if (quantization) {
        fusion.nodes.push_back(node);
        fusion.addend = {index_.raw(node).inputs[0], quantization};
      }
    }
    const uint32_t reader = index_.only_reader(fusion.epilogue.output);
    if (reader == GANTRY_NONE || !may_take_(reader) ||
        index_.node(reader).op_type() != "QuantizeLinear" ||
        index_.raw(reader).inputs[0] != fusion.epilogue.output)
      return;
    const auto quantization = quantization_of(index_.node(reader));
    if (!quantization) return;
    fusion.nodes.push_back(reader);
    fusion.target = {index_.raw(reader).outputs[0], quantization};
  }

  [[nodiscard]] std::vector<Port> plain_sources() const {
    const gantry_node& raw = index_.raw(root_);
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

  bool take_weights(Fusion& fusion, std::vector<uint32_t>& taken) const {
    const gantry_node& raw = index_.raw(root_);
    if (raw.input_count <= kWeights) return false;
    const uint32_t node = dequantizer(raw.inputs[kWeights]);
    if (node == GANTRY_NONE) return false;
    auto quantization = weight_quantization_of(index_.node(node), traits_.weights_axis);
    if (!quantization) return false;
    taken.push_back(node);
    fusion.weights = index_.raw(node).inputs[0];
    fusion.weight_quantization = std::move(quantization);
    if (fusion.bias == GANTRY_NONE || index_.value(fusion.bias).is_constant()) return true;
    const uint32_t bias = dequantizer(fusion.bias);
    if (bias == GANTRY_NONE || !index_.node(bias).input(0).is_constant()) return false;
    taken.push_back(bias);
    fusion.bias_node = bias;
    return true;
  }

  const GraphIndex& index_;
  const RootTraits& traits_;
  const std::function<bool(uint32_t)>& may_take_;
  uint32_t root_;
};

// The fusion of a QLinearConv or QLinearMatMul. Inputs: source, its scale and zero point; weights,
// their scale and zero point; scale and zero point of the result; bias. If a scale or zero point is
// not constant, the sources have no quantization, and the family refuses.
Fusion fusion_of_qlinear(const GraphIndex& index, uint32_t root, int weights_axis) {
  const sdk::NodeView node = index.node(root);
  const gantry_node& raw = index.raw(root);
  Fusion fusion = single_node_fusion(index, root);
  if (raw.input_count < 8) return fusion;
  fusion.sources = {{raw.inputs[0], std::nullopt}};
  fusion.weights = raw.inputs[3];
  if (raw.input_count > 8) fusion.bias = raw.inputs[8];
  const auto source = quantization_of(type_of(node.input(0).dtype()), node.input(1), node.input(2));
  const auto target =
      quantization_of(type_of(node.output(0).dtype()), node.input(6), node.input(7));
  fusion.weight_quantization =
      weight_quantization_of(node.input(3), weights_axis, node.input(4), node.input(5));
  if (!source || !target || !fusion.weight_quantization) return fusion;
  fusion.sources[0].quantization = source;
  fusion.target.quantization = target;
  return fusion;
}

// True for a single f32 element, or one for each of `channels` along the last axis.
bool is_scale(const sdk::ValueView& value, int64_t channels) {
  if (value.dtype() != GANTRY_FLOAT || value.rank() < 0) return false;
  for (int i = 0; i < value.rank(); ++i) {
    const bool is_last = i + 1 == value.rank();
    if (value.extent(i) != 1 && (!is_last || value.extent(i) != channels)) return false;
  }
  return true;
}

// The fusion of a MatMulInteger with the Cast to f32 and the Mul that dequantize its result, and
// the epilogue of that.
Fusion fusion_of_matmul_integer(const GraphIndex& index, uint32_t root, const RootTraits& traits,
                                const std::function<bool(uint32_t)>& may_take) {
  const sdk::NodeView node = index.node(root);
  const gantry_node& raw = index.raw(root);
  Fusion fusion = single_node_fusion(index, root);
  fusion.sources = {{raw.inputs[0], std::nullopt}};
  if (raw.input_count > kWeights) fusion.weights = raw.inputs[kWeights];
  if (raw.input_count > 2) fusion.zero_point = raw.inputs[2];
  fusion.weight_quantization = weight_quantization_of(
      node.input(1), traits.weights_axis, sdk::ValueView(index.host(), nullptr), node.input(3));
  const uint32_t cast = index.only_reader(raw.outputs[0]);
  if (cast == GANTRY_NONE || !may_take(cast) || index.node(cast).op_type() != "Cast" ||
      index.node(cast).output(0).dtype() != GANTRY_FLOAT)
    return fusion;
  const uint32_t floats = index.raw(cast).outputs[0];
  const uint32_t scaling = index.only_reader(floats);
  if (scaling == GANTRY_NONE || !may_take(scaling) || index.node(scaling).op_type() != "Mul" ||
      index.node(scaling).since_version() < 7)
    return fusion;
  const gantry_node& mul = index.raw(scaling);
  const uint32_t scale = mul.inputs[mul.inputs[0] == floats ? 1 : 0];
  if (scale == floats || !is_scale(index.value(scale), traits.channels)) return fusion;
  Epilogue epilogue = epilogue_of(index, scaling, traits, may_take);
  const bool is_scaled = std::any_of(epilogue.scale.begin(), epilogue.scale.end(),
                                     [](float factor) { return factor != 1; });
  if (is_scaled) {  // only a bias is folded
    RootTraits own = traits;
    own.channels = 0;
    epilogue = epilogue_of(index, scaling, own, may_take);
  }
  fusion.scale = scale;
  fusion.epilogue = std::move(epilogue);
  fusion.epilogue.nodes.insert(fusion.epilogue.nodes.end(), {root, cast});
  std::sort(fusion.epilogue.nodes.begin(), fusion.epilogue.nodes.end());
  fusion.nodes = fusion.epilogue.nodes;
  fusion.target.value = fusion.epilogue.output;
  return fusion;
}

}  // namespace

Fusion fusion_of(const GraphIndex& index, uint32_t root, const RootTraits& traits,
                 const std::function<bool(uint32_t)>& may_take) {
  if (traits.is_integer) return fusion_of_matmul_integer(index, root, traits, may_take);
  if (traits.is_linear) return fusion_of_qlinear(index, root, traits.weights_axis);
  const gantry_node& raw = index.raw(root);
  Fusion fusion;
  fusion.root = root;
  if (traits.weights_axis >= 0) {
    if (raw.input_count > kWeights) fusion.weights = raw.inputs[kWeights];
    if (raw.input_count > kBias) fusion.bias = raw.inputs[kBias];
  }
  const Surroundings around(index, traits, may_take, root);
  fusion.sources = around.plain_sources();
  RootTraits own = traits;
  // Scales can be folded into f32 weights, not into int8 weights.
  own.is_quantized = around.take_operands(fusion);
  if (own.is_quantized) own.channels = 0;
  fusion.epilogue = epilogue_of(index, root, own, may_take);
  fusion.nodes.insert(fusion.nodes.end(), fusion.epilogue.nodes.begin(),
                      fusion.epilogue.nodes.end());
  fusion.addend.value = fusion.epilogue.addend();
  fusion.target.value = fusion.epilogue.output;
  if (fusion.is_quantized()) around.take_ends(fusion);
  std::sort(fusion.nodes.begin(), fusion.nodes.end());
  return fusion;
}

Fusion single_node_fusion(const GraphIndex& index, uint32_t node) {
  Fusion fusion;
  fusion.root = node;
  fusion.nodes = {node};
  fusion.epilogue.nodes = {node};
  fusion.epilogue.output = index.raw(node).outputs[0];
  fusion.target.value = fusion.epilogue.output;
  return fusion;
}

void fuse_channel_shuffle(const GraphIndex& index, Fusion& fusion,
                          const std::function<bool(uint32_t)>& may_take) {
  fusion.shuffle = shuffle_of(index, fusion.sources[0].value, may_take);
  if (!fusion.shuffle) return;
  fusion.sources[0].value = fusion.shuffle->source;
  fusion.nodes.insert(fusion.nodes.end(), fusion.shuffle->nodes.begin(),
                      fusion.shuffle->nodes.end());
  std::sort(fusion.nodes.begin(), fusion.nodes.end());
}

bool may_replace_addend(const GraphIndex& index, const Fusion& fusion) {
  const uint32_t addend = fusion.addend.value;
  if (addend == GANTRY_NONE || fusion.addend.type() != fusion.target.type() ||
      index.producer(addend) == GANTRY_NONE || index.is_output(addend))
    return false;
  // The host runs nodes in their order.
  return index.readers(addend).back() <= fusion.nodes.back();
}

std::optional<std::vector<float>> bias_of(const GraphIndex& index, const Fusion& fusion,
                                          int64_t channels) {
  if (fusion.bias == GANTRY_NONE) return std::vector<float>(static_cast<size_t>(channels), 0);
  if (fusion.bias_node != GANTRY_NONE)
    return dequantized_vector(index.node(fusion.bias_node), channels);
  const sdk::ValueView value = index.value(fusion.bias);
  if (fusion.is_quantized() && fusion.weight_quantization && value.dtype() == GANTRY_INT32) {
    const auto numbers = integers_of(value);
    if (!numbers || static_cast<int64_t>(numbers->size()) != channels) return std::nullopt;
    std::vector<float> bias = fusion.weight_quantization->scales;
    for (size_t i = 0; i < bias.size(); ++i)
      bias[i] *= fusion.sources[0].quantization->scale * static_cast<float>((*numbers)[i]);
    return bias;
  }
  return along_axis(value, value.rank(), value.rank() - 1, channels);
}

bool has_constant_weights(const GraphIndex& index, const Fusion& fusion) {
  return fusion.weight_quantization.has_value() || is_constant_f32(index.value(fusion.weights));
}

}  // namespace gantry::x86
