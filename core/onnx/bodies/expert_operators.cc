// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/expert_operators.h"

#include <string>

#include "onnx/bodies/block_operators.h"
#include "onnx/bodies/body_text.h"

namespace gantry {
namespace {

/// Input indices of a layer of the experts; 0, which is the input of the node: absent.
struct Layer {
  int weights;
  int scales;
  int zeros;
  int bias;
};

std::string text_of(const BodyContext& context, const char* name, const char* fallback) {
  const onnx::AttributeProto* given = context.getAttribute(name);
  return given ? given->s() : fallback;
}

/// `weights`, [tokens, experts]: the router's weight of each expert for each token.
/// `is_softmax_of_chosen`: the softmax is over the chosen experts only.
void add_routes(BodyText& body, const BodyContext& context, bool is_softmax_of_chosen,
                const std::string& weights_input) {
  body.ints("k", {int_of(context, "k", 1)});
  body.ints("last_axis", {-1});
  body.add("logits = Cast<to = 1>(router_probs)");
  body.number("no_weight", 0.0F);
  if (!weights_input.empty()) {
    body.add("best, chosen = TopK(logits, k)");
    body.add("all_weights = Cast<to = 1>(" + weights_input + ")");
    body.add("chosen_weights = GatherElements<axis = 1>(all_weights, chosen)");
  } else if (is_softmax_of_chosen) {
    body.add("best, chosen = TopK(logits, k)");
    body.add("chosen_weights = Softmax<axis = -1>(best)");
  } else {
    body.add("shares = Softmax<axis = -1>(logits)");
    body.add("chosen_weights, chosen = TopK(shares, k)");
  }
  std::string result = "chosen_weights";
  if (int_of(context, "normalize_routing_weights", 0) != 0) {
    body.add("weight_sums = ReduceSum<keepdims = 1>(chosen_weights, last_axis)");
    body.add("normal_weights = Div(chosen_weights, weight_sums)");
    result = "normal_weights";
  }
  body.add("logit_shape = Shape(logits)");
  body.add("no_weights = Expand(no_weight, logit_shape)");
  body.add("weights = ScatterElements<axis = 1>(no_weights, chosen, " + result + ")");
}

/// A layer's weights as `to`, [experts, in, out] in float32. False: an unsupported form.
bool add_matrix(BodyText& body, const BodyContext& context, const std::string& to,
                const std::string& layer, const Layer& inputs, int64_t bits) {
  const std::string weights = layer + "_experts_weights";
  if (inputs.scales == 0) {
    body.add(to + "_wide = Cast<to = 1>(" + weights + ")");
    body.add(to + " = Transpose<perm = [0, 2, 1]>(" + to + "_wide)");
    return true;
  }
  const int rank = rank_of(context, inputs.scales);
  const int64_t block = int_of(context, "block_size", 0);
  if (!context.hasInput(inputs.scales) || (rank != 2 && rank != 3) || (rank == 3 && block < 1))
    return body.refuse(layer + "_scales: expected rank 2, or 3 with a block_size");
  unpack_bits(body, to + "_codes", weights, bits);
  body.add(to + "_scales = Cast<to = 1>(" + layer + "_scales)");
  const bool has_zeros = context.hasInput(inputs.zeros);
  if (has_zeros) {
    unpack_bits(body, to + "_all_zeros", layer + "_zero_points", bits);
    // The packed bytes may have room for more zero points than there are.
    body.ints(to + "_first", {0});
    body.extent_of_last(to + "_count", layer + "_scales");
    body.slice(to + "_zeros", to + "_all_zeros", to + "_first", to + "_count", rank - 1);
  } else {
    body.number(to + "_zeros", static_cast<float>(int64_t{1} << (bits - 1)));
  }
  const auto by_element = [&](const std::string& name, const std::string& tensor) {
    if (rank == 2) return body.unsqueeze(name, tensor, {2});
    body.add(name + " = Gather<axis = 2>(" + tensor + ", " + to + "_blocks)");
  };
  if (rank == 3) {
    body.number(to + "_block", block);
    body.extent_of_last(to + "_length", to + "_codes");
    body.count(to + "_places", to + "_length");
    body.add(to + "_blocks = Div(" + to + "_places, " + to + "_block)");
  }
  by_element(to + "_factors", to + "_scales");
  std::string zeros = to + "_zeros";
  if (has_zeros) {
    zeros = to + "_centers";
    by_element(zeros, to + "_zeros");
  }
  body.add(to + "_centered = Sub(" + to + "_codes, " + zeros + ")");
  body.add(to + "_scaled = Mul(" + to + "_centered, " + to + "_factors)");
  body.add(to + " = Transpose<perm = [0, 2, 1]>(" + to + "_scaled)");
  return true;
}

/// Applies a layer to `x`: `to`, [experts, tokens, out].
bool add_layer(BodyText& body, const BodyContext& context, const std::string& to,
               const std::string& x, const std::string& layer, const Layer& inputs, int64_t bits) {
  if (!add_matrix(body, context, layer + "_matrix", layer, inputs, bits)) return false;
  const bool has_bias = context.hasInput(inputs.bias);
  body.add(to + (has_bias ? "_products" : "") + " = MatMul(" + x + ", " + layer + "_matrix)");
  if (!has_bias) return true;
  body.add(to + "_wide_bias = Cast<to = 1>(" + layer + "_experts_bias)");
  body.unsqueeze(to + "_bias", to + "_wide_bias", {1});
  body.sum(to, to + "_products", to + "_bias");
  return true;
}

/// Applies the activation to `x` and, for SwiGLU, `linear`.
bool add_activation(BodyText& body, const BodyContext& context, const std::string& to,
                    const std::string& x, const std::string& linear) {
  const std::string activation = text_of(context, "activation_type", "relu");
  if (activation == "relu") {
    body.add(to + " = Relu(" + x + ")");
  } else if (activation == "gelu") {
    body.add(to + " = com.microsoft.FastGelu(" + x + ")");
  } else if (activation == "silu") {
    body.add(to + "_opening = Sigmoid(" + x + ")");
    body.add(to + " = Mul(" + x + ", " + to + "_opening)");
  } else if (activation == "identity") {
    body.add(to + " = Identity(" + x + ")");
  } else if (activation == "swiglu" && !linear.empty()) {
    std::string gate = x;
    std::string line = linear;
    if (context.getAttribute("swiglu_limit")) {
      const float limit = float_of(context, "swiglu_limit", 0);
      body.number("limit", limit);
      body.number("least", -limit);
      body.add("bounded_gate = Min(" + x + ", limit)");
      body.add("bounded_line = Clip(" + linear + ", least, limit)");
      gate = "bounded_gate";
      line = "bounded_line";
    }
    body.number("alpha", float_of(context, "activation_alpha", 1));
    body.number("beta", float_of(context, "activation_beta", 0));
    body.add("gate_times_alpha = Mul(" + gate + ", alpha)");
    body.add("opening = Sigmoid(gate_times_alpha)");
    body.add("swish = Mul(" + gate + ", opening)");
    body.add("line_and_beta = Add(" + line + ", beta)");
    body.add(to + " = Mul(swish, line_and_beta)");
  } else {
    return body.refuse("activation_type: expected relu, gelu, silu, identity or swiglu, found \"" +
                       activation + "\"");
  }
  return true;
}

bool build_experts(const BodyContext& context, BodyText& body, const Layer (&layers)[3],
                   const int64_t (&bits)[3], const std::string& router_weights) {
  const int type = type_of(context, 0);
  if (type == 0) return body.refuse(kTypeUnknown);
  if (int_of(context, "use_sparse_mixer", 0) != 0 || int_of(context, "k", 1) < 1)
    return body.refuse("expected use_sparse_mixer 0 and k of 1 or more");
  const bool is_quantized = layers[0].scales != 0;
  add_routes(body, context, is_quantized, router_weights);
  body.extent_of_last("hidden", "input");
  body.ints("rest", {-1});
  body.add("wide_input = Cast<to = 1>(input)");
  body.reshape("x", "wide_input", std::vector<std::string>{"rest", "hidden"});
  if (!add_layer(body, context, "first", "x", "fc1", layers[0], bits[0])) return false;
  const bool has_third = context.hasInput(layers[2].weights);
  const bool is_swiglu = text_of(context, "activation_type", "relu") == "swiglu";
  if (has_third && !add_layer(body, context, "third", "x", "fc3", layers[2], bits[2])) return false;
  std::string gate = "first";
  std::string line = has_third ? "third" : "";
  if (is_swiglu && !has_third) {
    const int64_t fusion = int_of(context, "swiglu_fusion", 0);
    if (fusion != 1 && fusion != 2) {
      return body.refuse("swiglu without a third layer: expected swiglu_fusion 1 or 2, found " +
                         std::to_string(fusion));
    }
    // Interleaved, [experts, tokens, features, 2], or concatenated.
    if (fusion == 1) {
      body.reshape("pairs", "first", std::vector<int64_t>{0, 0, -1, 2});
    } else {
      body.reshape("halves", "first", std::vector<int64_t>{0, 0, 2, -1});
      body.add("pairs = Transpose<perm = [0, 1, 3, 2]>(halves)");
    }
    body.pick("gate", "pairs", 0, 3);
    body.pick("line", "pairs", 1, 3);
    gate = "gate";
    line = "line";
  }
  if (!add_activation(body, context, "active", gate, is_swiglu ? line : "")) return false;
  std::string features = "active";
  if (has_third && !is_swiglu) {
    body.add("gated = Mul(active, third)");
    features = "gated";
  }
  if (!add_layer(body, context, "second", features, "fc2", layers[1], bits[1])) return false;
  body.ints("expert_axis", {0});
  body.ints("feature_axis", {2});
  body.add_lines(R"(
    weights_by_expert = Transpose<perm = [1, 0]>(weights)
    weight_columns = Unsqueeze(weights_by_expert, feature_axis)
    weighted = Mul(second, weight_columns)
    sums = ReduceSum<keepdims = 0>(weighted, expert_axis)
    input_shape = Shape(input)
    wide_output = Reshape(sums, input_shape))");
  body.add("output" + cast_to(type) + "wide_output)");
  return true;
}

bool build_moe(const BodyContext& context, BodyText& body) {
  return build_experts(context, body, {{2, 0, 0, 3}, {4, 0, 0, 5}, {6, 0, 0, 7}}, {0, 0, 0}, "");
}

bool build_qmoe(const BodyContext& context, BodyText& body) {
  constexpr int kRouterWeights = 14;
  constexpr int kFirstOfFloats = 15;
  constexpr int kEnd = 21;
  for (int input = kFirstOfFloats; input < kEnd; ++input) {
    if (context.hasInput(input))
      return body.refuse("scales of 8-bit and 4-bit floats (inputs 15 to 20) are not supported");
  }
  int64_t bits[3];
  for (int i = 0; i < 3; ++i) {
    const std::string name = "fc" + std::to_string(i + 1) + "_expert_weight_bits";
    bits[i] = int_of(context, name.c_str(), int_of(context, "expert_weight_bits", 4));
    if (bits[i] != 2 && bits[i] != 4 && bits[i] != 8)
      return body.refuse(name + ": expected 2, 4 or 8, found " + std::to_string(bits[i]));
  }
  if (text_of(context, "quant_type", "int") != "int" || int_of(context, "weights_prepacked", 0) > 0)
    return body.refuse("expected quant_type \"int\" and weights that are not prepacked");
  return build_experts(context, body, {{2, 3, 11, 4}, {5, 6, 12, 7}, {8, 9, 13, 10}}, bits,
                       context.hasInput(kRouterWeights) ? "router_weights" : "");
}

constexpr BodyRow kExpertRows[] = {
    {"MoE",
     "input, router_probs, fc1_experts_weights, fc1_experts_bias?, fc2_experts_weights, "
     "fc2_experts_bias?, fc3_experts_weights?, fc3_experts_bias?",
     "output", "0", build_moe},
    {"QMoE",
     "input, router_probs, fc1_experts_weights, fc1_scales?, fc1_experts_bias?, "
     "fc2_experts_weights, fc2_scales?, fc2_experts_bias?, fc3_experts_weights?, fc3_scales?, "
     "fc3_experts_bias?, fc1_zero_points?, fc2_zero_points?, fc3_zero_points?, router_weights?, "
     "fc1_global_scale?, fc2_global_scale?, fc1_act_scale?, fc2_act_scale?, "
     "fc1_act_block_scale?, fc2_act_block_scale?",
     "output", "0", build_qmoe},
};

}  // namespace

std::vector<onnx::OpSchema> expert_schemas() {
  std::vector<onnx::OpSchema> schemas;
  for (const BodyRow& row : kExpertRows) schemas.push_back(schema_of(row));
  return schemas;
}

}  // namespace gantry
