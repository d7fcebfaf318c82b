// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/attention_operators.h"

#include <onnx/defs/shape_inference.h>
#include <string>

#include "onnx/bodies/attention_body.h"

namespace gantry {
namespace {

using onnx::OpSchema;

constexpr size_t kFirstPastOfGroups = 3;  // input of GroupQueryAttention

// Infers the element types of all outputs (the caches of GroupQueryAttention have their own), and
// the shape of the first one from the queries and, if there is a `value_input`, the number of
// features of the values.
onnx::InferenceFunction inference_of(int value_input, bool is_like_first) {
  return [=](onnx::InferenceContext& context) {
    const bool is_grouped = context.getAttribute("kv_num_heads") != nullptr;
    for (size_t i = 0; i < context.getNumOutputs(); ++i) {
      const size_t past = i + kFirstPastOfGroups - 1;
      const bool is_cache = is_grouped && (i == 1 || i == 2) && past < context.getNumInputs() &&
                            context.getInputType(past);
      onnx::propagateElemTypeFromInputToOutput(context, is_cache ? past : 0, i);
    }
    if (!onnx::hasInputShape(context, 0)) return;
    onnx::TensorShapeProto shape = onnx::getInputShape(context, 0);
    if (!is_like_first) {
      const auto at = static_cast<size_t>(value_input);
      if (value_input < 0 || shape.dim_size() != 3 || context.getNumInputs() <= at ||
          !context.getInputType(at) || !onnx::hasInputShape(context, at))
        return;
      const onnx::TensorShapeProto& value = onnx::getInputShape(context, at);
      if (value.dim_size() != 3) return;
      // With grouped heads the values have fewer features than the queries, but heads of equal
      // width.
      if (!is_grouped) *shape.mutable_dim(2) = value.dim(2);
    }
    *onnx::getOutputShape(context, 0) = shape;
  };
}

}  // namespace

std::vector<OpSchema> attention_schemas() {
  std::vector<OpSchema> schemas;
  const std::vector<Formal> outputs = {
      {"output", false}, {"present_key", true}, {"present_value", true}, {"qk", true}};
  schemas.push_back(microsoft_schema("MultiHeadAttention",
                                     {{"query", false},
                                      {"key", true},
                                      {"value", true},
                                      {"bias", true},
                                      {"key_padding_mask", true},
                                      {"attention_bias", true},
                                      {"past_key", true},
                                      {"past_value", true},
                                      {"past_sequence_length", true},
                                      {"cache_indirection", true}},
                                     outputs));
  schemas.back()
      .TypeAndShapeInferenceFunction(inference_of(2, false))
      .SetContextDependentFunctionBodyBuilder(build_multi_head);
  schemas.push_back(microsoft_schema("DecoderMaskedMultiHeadAttention",
                                     {{"query", false},
                                      {"key", true},
                                      {"value", true},
                                      {"mask_index", true},
                                      {"attention_bias", true},
                                      {"past_key", true},
                                      {"past_value", true},
                                      {"past_sequence_length", true},
                                      {"beam_width", true},
                                      {"cache_indirection", true},
                                      {"bias", true}},
                                     outputs));
  schemas.back()
      .TypeAndShapeInferenceFunction(inference_of(2, false))
      .SetContextDependentFunctionBodyBuilder(build_decoder_masked);
  schemas.push_back(microsoft_schema("GroupQueryAttention",
                                     {{"query", false},
                                      {"key", true},
                                      {"value", true},
                                      {"past_key", true},
                                      {"past_value", true},
                                      {"seqlens_k", false},
                                      {"total_sequence_length", false},
                                      {"cos_cache", true},
                                      {"sin_cache", true},
                                      {"position_ids", true},
                                      {"attention_bias", true},
                                      {"head_sink", true},
                                      {"k_scale", true},
                                      {"v_scale", true},
                                      {"q_norm_weight", true},
                                      {"k_norm_weight", true}},
                                     outputs));
  schemas.back()
      .TypeAndShapeInferenceFunction(inference_of(2, false))
      .SetContextDependentFunctionBodyBuilder(build_grouped);
  schemas.push_back(
      microsoft_schema("SparseAttention",
                       {{"query", false},
                        {"key", true},
                        {"value", true},
                        {"past_key", false},
                        {"past_value", false},
                        {"block_row_indices", false},
                        {"block_col_indices", false},
                        {"total_sequence_length", false},
                        {"key_total_sequence_lengths", false},
                        {"cos_cache", true},
                        {"sin_cache", true}},
                       {{"output", false}, {"present_key", false}, {"present_value", false}}));
  schemas.back()
      .TypeAndShapeInferenceFunction(inference_of(2, false))
      .SetContextDependentFunctionBodyBuilder(build_sparse);
  schemas.push_back(microsoft_schema("Attention",
                                     {{"input", false},
                                      {"weights", false},
                                      {"bias", true},
                                      {"mask_index", true},
                                      {"past", true},
                                      {"attention_bias", true},
                                      {"past_sequence_length", true}},
                                     {{"output", false}, {"present", true}}));
  schemas.back()
      .TypeAndShapeInferenceFunction(inference_of(-1, false))
      .SetContextDependentFunctionBodyBuilder(build_joint);
  schemas.push_back(microsoft_schema("QAttention",
                                     {{"input", false},
                                      {"weight", false},
                                      {"bias", false},
                                      {"input_scale", false},
                                      {"weight_scale", false},
                                      {"mask_index", true},
                                      {"input_zero_point", true},
                                      {"weight_zero_point", true},
                                      {"past", true}},
                                     {{"output", false}, {"present", true}}));
  schemas.back()
      .TypeAndShapeInferenceFunction([](onnx::InferenceContext& context) {
        for (size_t i = 0; i < context.getNumOutputs(); ++i)
          onnx::updateOutputElemType(context, i, onnx::TensorProto::FLOAT);
      })
      .SetContextDependentFunctionBodyBuilder(build_quantized_joint);
  const std::vector<Formal> rotated{
      {"input", false}, {"position_ids", false}, {"cos_cache", false}, {"sin_cache", false}};
  schemas.push_back(microsoft_schema("RotaryEmbedding", rotated, {{"output", false}}));
  schemas.back()
      .TypeAndShapeInferenceFunction(inference_of(-1, true))
      .SetContextDependentFunctionBodyBuilder(build_rotary);
  schemas.push_back(microsoft_schema("MRotaryEmbedding", rotated, {{"output", false}}));
  schemas.back()
      .TypeAndShapeInferenceFunction(inference_of(-1, true))
      .SetContextDependentFunctionBodyBuilder(build_rotary_of_streams);
  return schemas;
}

}  // namespace gantry
