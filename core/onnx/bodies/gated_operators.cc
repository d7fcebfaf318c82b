// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/gated_operators.h"

#include <string>

#include "onnx/bodies/body_text.h"

namespace gantry {
namespace {

/// `to`: `x` divided by its root mean square along the last axis; all in float32.
void divide_by_rms(BodyText& body, const std::string& to, const std::string& x, float epsilon) {
  const std::string p = to + "_";
  body.ints(p + "axis", {-1});
  body.number(p + "epsilon", epsilon);
  body.extent_of_last(p + "length", x);
  body.add(p + "count = Cast<to = 1>(" + p + "length)");
  body.add(p + "squares = Mul(" + x + ", " + x + ")");
  body.add(p + "total = ReduceSum<keepdims = 1>(" + p + "squares, " + p + "axis)");
  body.add(p + "mean = Div(" + p + "total, " + p + "count)");
  body.add(p + "sum = Add(" + p + "mean, " + p + "epsilon)");
  body.add(p + "root = Sqrt(" + p + "sum)");
  body.add(to + " = Div(" + x + ", " + p + "root)");
}

bool build_gated_norm(const BodyContext& context, BodyText& body) {
  const int type = type_of(context, 0);
  const onnx::AttributeProto* given = context.getAttribute("activation");
  const std::string activation = given ? given->s() : "silu";
  const bool is_sigmoid = activation == "sigmoid";
  if (type == 0) return body.refuse(kTypeUnknown);
  if (!is_sigmoid && activation != "silu" && activation != "swish")
    return body.refuse("activation: expected sigmoid, silu or swish, found \"" + activation + "\"");
  body.add("wide_x = Cast<to = 1>(X)");
  body.add("wide_scale = Cast<to = 1>(scale)");
  body.add("wide_gate = Cast<to = 1>(gate)");
  body.extent("group", "scale", 0);
  body.ints("rest", {-1});
  body.reshape("rows", "wide_x", std::vector<std::string>{"rest", "group"});
  divide_by_rms(body, "standard", "rows", float_of(context, "epsilon", 1e-5F));
  body.add_lines(R"(
    scaled = Mul(standard, wide_scale)
    shape = Shape(X)
    shaped = Reshape(scaled, shape)
    opening = Sigmoid(wide_gate))");
  if (!is_sigmoid) body.add("swish = Mul(wide_gate, opening)");
  body.add(std::string("gated = Mul(shaped, ") + (is_sigmoid ? "opening)" : "swish)"));
  body.add("Y" + cast_to(type) + "gated)");
  return true;
}

bool build_gated_add(const BodyContext&, BodyText& body) {
  body.add("product = Mul(Y, gate)");
  body.add("output = Add(X, product)");
  return true;
}

bool build_scaled_silu(const BodyContext& context, BodyText& body) {
  const int type = type_of(context, 0);
  if (type == 0) return body.refuse(kTypeUnknown);
  body.add("x = Cast<to = 1>(X)");
  if (context.hasInput(1)) {
    body.add("wide_factor = Cast<to = 1>(scale)");
    body.add("no_axes = Constant<value_ints: ints = []>()");
    body.add("factor = Reshape(wide_factor, no_axes)");
  } else {
    body.number("factor", float_of(context, "alpha", 1));
  }
  body.add("scaled = Mul(x, factor)");
  body.add("z_rounded" + cast_to(type) + "scaled)");
  body.add("z = Cast<to = 1>(z_rounded)");
  body.add("opening = Sigmoid(z)");
  body.add("s_rounded" + cast_to(type) + "opening)");
  body.add("s = Cast<to = 1>(s_rounded)");
  body.add("product = Mul(z, s)");
  body.add("Y" + cast_to(type) + "product)");
  return true;
}

/// `to`: a tensor reshaped to [rows, branches, features]. Its branches are an axis or, if the node
/// has their number as an attribute, concatenated in the last axis.
bool part_branches(const BodyContext& context, BodyText& body, const std::string& to,
                   const std::string& tensor) {
  const int64_t branches = int_of(context, "num_branches", 0);
  const int rank = rank_of(context, 0);
  if (branches > 0) {
    body.extent_of_last(to + "_whole", tensor);
    body.ints(to + "_branches", {branches});
    body.ints(to + "_any", {-1});
    body.add(to + "_width = Div(" + to + "_whole, " + to + "_branches)");
    body.reshape(to, tensor,
                 std::vector<std::string>{to + "_any", to + "_branches", to + "_width"});
    return true;
  }
  if (rank < 2)
    return body.refuse("expected num_branches, or a first input of known rank with 2 or more axes");
  body.extent(to + "_branches", tensor, rank - 2);
  body.extent_of_last(to + "_width", tensor);
  body.ints(to + "_any", {-1});
  body.reshape(to, tensor, std::vector<std::string>{to + "_any", to + "_branches", to + "_width"});
  return true;
}

bool build_branch_norm(const BodyContext& context, BodyText& body) {
  const int type = type_of(context, 0);
  if (type == 0) return body.refuse(kTypeUnknown);
  body.add("wide_x = Cast<to = 1>(X)");
  if (!part_branches(context, body, "x", "wide_x")) return false;
  divide_by_rms(body, "standard", "x", float_of(context, "epsilon", 1e-5F));
  std::string result = "standard";
  if (context.hasInput(1)) {
    body.add("wide_scale = Cast<to = 1>(scale)");
    body.reshape("scale_rows", "wide_scale", std::vector<std::string>{"x_any", "x_width"});
    body.add("scaled = Mul(standard, scale_rows)");
    result = "scaled";
  }
  body.add("shape = Shape(X)");
  body.add("shaped = Reshape(" + result + ", shape)");
  body.add("Y" + cast_to(type) + "shaped)");
  return true;
}

bool build_attention_gate(const BodyContext& context, BodyText& body) {
  const int type = type_of(context, 0);
  if (type == 0) return body.refuse(kTypeUnknown);
  if (context.hasOutput(1) && !context.hasInput(3))
    return body.refuse("output beta: expected an input b");
  body.add_lines(R"(
    wide_a = Cast<to = 1>(a)
    shifted = Add(wide_a, dt_bias)
    soft = Softplus(shifted)
    wide_decay = Mul(soft, decay_scale))");
  body.add("decay" + cast_to(type) + "wide_decay)");
  if (context.hasOutput(1)) {
    body.add("wide_b = Cast<to = 1>(b)");
    body.add("wide_beta = Sigmoid(wide_b)");
    body.add("beta" + cast_to(type) + "wide_beta)");
  }
  return true;
}

bool build_engram(const BodyContext& context, BodyText& body) {
  constexpr float kLeast = 1e-6F;  // lower bound of the product under the square root
  const int type = type_of(context, 0);
  const bool wants_norm = context.hasOutput(1);
  if (type == 0) return body.refuse(kTypeUnknown);
  if (wants_norm && !context.hasInput(5))
    return body.refuse("output gated_value_normed: expected an input conv_norm_scale");
  const float epsilon = float_of(context, "epsilon", 1e-5F);
  for (const char* name : {"key", "query", "value", "key_norm_scale", "query_norm_scale"})
    body.add(std::string("wide_") + name + " = Cast<to = 1>(" + name + ")");
  divide_by_rms(body, "key_standard", "wide_key", epsilon);
  divide_by_rms(body, "query_standard", "wide_query", epsilon);
  body.number("least", kLeast);
  body.extent_of_last("width", "key");
  body.unsqueeze("value_of_all", "wide_value", {2});
  body.add_lines(R"(
    key_scaled = Mul(key_standard, wide_key_norm_scale)
    query_scaled = Mul(query_standard, wide_query_norm_scale)
    products = Mul(key_scaled, query_scaled)
    last_axis = Constant<value_ints = [-1]>()
    sums = ReduceSum<keepdims = 1>(products, last_axis)
    wide_width = Cast<to = 1>(width)
    width_root = Sqrt(wide_width)
    dot = Div(sums, width_root)
    sign = Sign(dot)
    size = Abs(dot)
    bounded = Max(size, least)
    root = Sqrt(bounded)
    signed_root = Mul(sign, root)
    gate = Sigmoid(signed_root)
    gated = Mul(gate, value_of_all))");
  body.add("output" + cast_to(type) + "gated)");
  if (wants_norm) {
    divide_by_rms(body, "gated_standard", "gated", epsilon);
    body.add("wide_conv_norm_scale = Cast<to = 1>(conv_norm_scale)");
    body.add("gated_scaled = Mul(gated_standard, wide_conv_norm_scale)");
    body.add("gated_value_normed" + cast_to(type) + "gated_scaled)");
  }
  return true;
}

/// Reshapes gates [..., branches], [..., branches, 1] or [..., branches, features] to broadcast to
/// x, [rows, branches, features].
bool part_gates(const BodyContext& context, BodyText& body, const std::string& to,
                const std::string& tensor, int slot, int lead_axes) {
  const int rank = rank_of(context, slot);
  if (lead_axes < 0 || (rank != lead_axes + 1 && rank != lead_axes + 2))
    return body.refuse(tensor + ": expected as many axes as the streams have, or one less");
  body.add(to + "_wide = Cast<to = 1>(" + tensor + ")");
  body.ints(to + "_any", {-1});
  body.extent_of_last(to + "_last", tensor);
  std::string width = to + "_last";
  if (rank == lead_axes + 1) {
    // One gate per branch or, flattened, one per feature of each branch.
    body.add(to + "_width = Div(" + to + "_last, x_branches)");
    width = to + "_width";
  }
  body.reshape(to, to + "_wide", std::vector<std::string>{to + "_any", "x_branches", width});
  return true;
}

int lead_axes_of(const BodyContext& context) {
  return rank_of(context, 0) - (int_of(context, "num_branches", 0) > 0 ? 1 : 2);
}

bool build_pre_mix(const BodyContext& context, BodyText& body) {
  const int type = type_of(context, 0);
  const int lead_axes = lead_axes_of(context);
  if (type == 0) return body.refuse(kTypeUnknown);
  if (lead_axes < 0) return body.refuse(kRankUnknown);
  body.add("wide_x = Cast<to = 1>(streams)");
  if (!part_branches(context, body, "x", "wide_x") ||
      !part_gates(context, body, "gates", "pre_mix", 1, lead_axes))
    return false;
  body.number("factor", float_of(context, "reduction_scale", 1));
  body.ints("zero", {0});
  body.ints("lead", {lead_axes});
  body.ints("branch_axis", {1});
  body.add_lines(R"(
    products = Mul(x, gates)
    sums = ReduceSum<keepdims = 0>(products, branch_axis)
    scaled = Mul(sums, factor)
    shape = Shape(streams)
    lead_shape = Slice(shape, zero, lead)
    result_shape = Concat<axis = 0>(lead_shape, x_width)
    shaped = Reshape(scaled, result_shape))");
  body.add("output" + cast_to(type) + "shaped)");
  return true;
}

bool build_post_mix(const BodyContext& context, BodyText& body) {
  const int type = type_of(context, 0);
  const int lead_axes = lead_axes_of(context);
  if (type == 0) return body.refuse(kTypeUnknown);
  if (lead_axes < 0) return body.refuse(kRankUnknown);
  body.add("wide_x = Cast<to = 1>(streams)");
  if (!part_branches(context, body, "x", "wide_x") ||
      !part_gates(context, body, "gates", "post_mix", 2, lead_axes))
    return false;
  body.ints("one", {1});
  body.add("wide_block = Cast<to = 1>(block_output)");
  body.reshape("block", "wide_block", std::vector<std::string>{"x_any", "one", "x_width"});
  body.add("injected = Mul(gates, block)");
  std::string streams = "x";
  if (context.hasInput(3)) {
    body.add("wide_mix = Cast<to = 1>(stream_mix)");
    body.reshape("mix", "wide_mix", std::vector<std::string>{"x_any", "x_branches", "x_branches"});
    body.add("mix_by_target = Transpose<perm = [0, 2, 1]>(mix)");
    body.add("mixed = MatMul(mix_by_target, x)");
    streams = "mixed";
  }
  body.sum("sums", streams, "injected");
  body.add("shape = Shape(streams)");
  body.add("shaped = Reshape(sums, shape)");
  body.add("output" + cast_to(type) + "shaped)");
  return true;
}

constexpr BodyRow kGatedRows[] = {
    {"GatedRMSNorm", "X, scale, gate", "Y", "0", build_gated_norm},
    {"GatedAdd", "X, Y, gate", "output", "0", build_gated_add},
    {"ScaledSiLU", "X, scale?", "Y", "0", build_scaled_silu},
    {"BranchwiseRMSNorm", "X, scale?", "Y", "0", build_branch_norm},
    {"LinearAttentionGate", "a, dt_bias, decay_scale, b?", "decay, beta?", "00",
     build_attention_gate},
    {"EngramGate", "key, query, value, key_norm_scale, query_norm_scale, conv_norm_scale?",
     "output, gated_value_normed?", "00", build_engram},
    {"HyperConnectionPreMix", "streams, pre_mix", "output", "0", build_pre_mix},
    {"HyperConnectionPostMix", "streams, block_output, post_mix, stream_mix?", "output", "0",
     build_post_mix},
};

}  // namespace

std::vector<onnx::OpSchema> gated_schemas() {
  std::vector<onnx::OpSchema> schemas;
  for (const BodyRow& row : kGatedRows) schemas.push_back(schema_of(row));
  return schemas;
}

}  // namespace gantry
