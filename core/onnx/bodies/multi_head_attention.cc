// SPDX-License-Identifier: Apache-2.0
// MultiHeadAttention and Attention of com.microsoft.
#include <string>
#include <vector>

#include "onnx/bodies/attention_body.h"

namespace gantry {
namespace {

// Inputs of MultiHeadAttention.
enum MultiHead : int {
  kQuery,
  kKey,
  kValue,
  kBias,
  kPaddingMask,
  kScoreBias,
  kPastKey,
  kPastValue,
  kPastLength,
  kIndirection
};

bool split_inputs(AttentionBody& body, const BodyContext& context, std::string (&parts)[3]) {
  const int query_rank = rank_of(context, kQuery);
  const int key_rank = rank_of(context, kKey);
  const bool has_bias = context.hasInput(kBias);
  if (query_rank == 5 || (query_rank == 3 && key_rank == 5)) {
    // Packed for each head: [batch, length, heads, 3 or 2, width].
    if (has_bias) return body.refuse("a bias of keys and values in one tensor is not supported");
    const std::string packed = query_rank == 5 ? "query" : "key";
    const int first = query_rank == 5 ? 0 : 1;
    if (query_rank == 3) body.split_heads("q_by_query", "query", body.heads());
    for (int i = first; i < 3; ++i) {
      const std::string to = std::string(1, "qkv"[i]) + "_by_query";
      body.pick(to, packed, i - first, 3);
    }
    for (int i = 0; i < 3; ++i) {
      parts[i] = std::string(1, "qkv"[i]);
      body.transpose(parts[i], parts[i] + "_by_query");
    }
    return true;
  }
  if (query_rank != 3 || !context.hasInput(kKey) || !context.hasInput(kValue))
    return body.refuse("expected a query of known rank 3 with key and value, or of rank 5");
  // Keys of another sequence are by head already, and their bias is in them: ONNX Runtime adds that
  // of the queries alone.
  const int count = key_rank == 4 ? 1 : 3;
  if (key_rank != 3 && key_rank != 4) return body.refuse("key: expected a known rank of 3, 4 or 5");
  body.split_projections(count, has_bias, parts);
  return true;
}

// The inputs with masks: the mask and its name, and "attention_bias".
struct MaskInputs {
  const char* name;
  int input;
  int bias_input;
};

// Adds the attention of queries, keys and values with a head each. False: a mask of a form without
// a body.
bool attend(AttentionBody& body, const BodyContext& context, const std::string (&parts)[3],
            const MaskInputs& mask) {
  body.widen("wide_q", parts[0]);
  body.widen("wide_k", parts[1]);
  body.widen("wide_v", parts[2]);
  AttentionBody::Scores scores;
  scores.scale = float_of(context, "scale", 0);
  if (context.hasInput(mask.input)) {
    if (!body.add_mask(mask.name, context, mask.input, "wide_k", scores.biases)) return false;
  }
  if (context.hasInput(mask.bias_input)) {
    body.widen("wide_bias", "attention_bias");
    scores.biases.emplace_back("wide_bias");
  }
  if (int_of(context, "unidirectional", 0) != 0) {
    scores.visible = "visible";
    body.causal(scores.visible, "wide_q", "wide_k");
  }
  if (context.hasOutput(3)) {
    scores.wish = AttentionBody::Scores::Wish::kMaskedScores;
    scores.qk = "qk";
  }
  body.attend("wide_q", "wide_k", "wide_v", scores);
  return true;
}

}  // namespace

bool build_multi_head(const BodyContext& context, const onnx::OpSchema& schema,
                      onnx::FunctionProto& function) {
  AttentionBody body(function, context);
  const bool has_past = context.hasInput(kPastKey);
  if (body.heads() < 1) return body.refuse("expected num_heads of 1 or more");
  if (type_of(context, kQuery) == 0) return body.refuse(kTypeUnknown);
  if (context.hasInput(kPastLength) || context.hasInput(kIndirection))
    return body.refuse("past_sequence_length and cache_indirection are not supported");
  if (has_past != context.hasInput(kPastValue))
    return body.refuse("expected past_key and past_value, or neither");
  std::string parts[3];
  if (!split_inputs(body, context, parts)) return false;
  if (has_past) {
    body.add("joined_keys = Concat<axis = 2>(past_key, " + parts[1] + ")");
    body.add("joined_values = Concat<axis = 2>(past_value, " + parts[2] + ")");
    parts[1] = "joined_keys";
    parts[2] = "joined_values";
  }
  body.add("present_key = Identity(" + parts[1] + ")");
  body.add("present_value = Identity(" + parts[2] + ")");
  if (!attend(body, context, parts, {"key_padding_mask", kPaddingMask, kScoreBias})) return false;
  schema.BuildFunction(function);
  return true;
}

namespace {

// The inputs of attention whose queries, keys and values are made by one MatMul.
struct JointInputs {
  int past;
  MaskInputs mask;
};

// Adds the attention of `all`, [batch, length, widths of q, k and v]. False: a mask of a form
// without a body.
bool attend_jointly(AttentionBody& body, const BodyContext& context, const std::string& all,
                    const std::string& weights, const JointInputs& inputs) {
  const onnx::AttributeProto* sizes = context.getAttribute("qkv_hidden_sizes");
  std::string ends[] = {"i0", "first_end", "second_end", "end"};
  if (sizes && sizes->ints_size() == 3) {
    body.ints("first_end", {sizes->ints(0)});
    body.ints("second_end", {sizes->ints(0) + sizes->ints(1)});
  } else {
    body.ints("three", {3});
    body.extent("whole_width", weights, 1);
    body.add("first_end = Div(whole_width, three)");
    body.add("second_end = Add(first_end, first_end)");
  }
  std::string parts[3];
  for (int i = 0; i < 3; ++i) {
    parts[i] = std::string(1, "qkv"[i]);
    body.slice(parts[i] + "_part", all, ends[i], ends[i + 1], 2);
    body.split_heads(parts[i] + "_by_query", parts[i] + "_part", body.heads());
    body.transpose(parts[i], parts[i] + "_by_query");
  }
  if (context.hasInput(inputs.past)) {
    for (int i = 1; i < 3; ++i) {
      body.pick(parts[i] + "_past", "past", i - 1, 0);
      body.join(parts[i] + "_joined", parts[i] + "_past", parts[i], 2);
      parts[i] += "_joined";
    }
  }
  if (context.hasOutput(1)) {
    body.unsqueeze("present_k", parts[1], {0});
    body.unsqueeze("present_v", parts[2], {0});
    body.add("present = Concat<axis = 0>(present_k, present_v)");
  }
  return attend(body, context, parts, inputs.mask);
}

}  // namespace

// Attention: queries, keys and values by one MatMul. Inputs: input, weights, bias, mask_index,
// past, attention_bias, past_sequence_length.
bool build_joint(const BodyContext& context, const onnx::OpSchema& schema,
                 onnx::FunctionProto& function) {
  AttentionBody body(function, context);
  if (body.heads() < 1) return body.refuse("expected num_heads of 1 or more");
  if (type_of(context, 0) == 0) return body.refuse(kTypeUnknown);
  if (context.hasInput(6) || int_of(context, "do_rotary", 0) != 0)
    return body.refuse("past_sequence_length and do_rotary are not supported");
  body.add("products_of_weights = MatMul(input, weights)");
  std::string all = "products_of_weights";
  if (context.hasInput(2)) {
    body.add("all_with_bias = Add(products_of_weights, bias)");
    all = "all_with_bias";
  }
  if (!attend_jointly(body, context, all, "weights", {4, {"mask_index", 3, 5}})) return false;
  schema.BuildFunction(function);
  return true;
}

// QAttention: the same with an int8 MatMul. Inputs: input, weight, bias, input_scale, weight_scale,
// mask_index, input_zero_point, weight_zero_point, past.
bool build_quantized_joint(const BodyContext& context, const onnx::OpSchema& schema,
                           onnx::FunctionProto& function) {
  constexpr int kNoInput = 9;
  AttentionBody body(function, context);
  if (body.heads() < 1 || int_of(context, "do_rotary", 0) != 0)
    return body.refuse("expected num_heads of 1 or more, and do_rotary 0");
  body.set_type(onnx::TensorProto::FLOAT);
  body.add_lines(R"(
    sums = MatMulInteger(input, weight, input_zero_point, weight_zero_point)
    wide_sums = Cast<to = 1>(sums)
    product_scale = Mul(input_scale, weight_scale)
    scaled_sums = Mul(wide_sums, product_scale)
    all_with_bias = Add(scaled_sums, bias))");
  if (!attend_jointly(body, context, "all_with_bias", "weight", {8, {"mask_index", 5, kNoInput}}))
    return false;
  schema.BuildFunction(function);
  return true;
}

}  // namespace gantry
