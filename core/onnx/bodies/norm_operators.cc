// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/norm_operators.h"

#include <onnx/defs/shape_inference.h>
#include <string>

#include "onnx/bodies/body_text.h"

namespace gantry {
namespace {

using onnx::OpSchema;

// First opsets of ai.onnx with the operators.
constexpr int64_t kOpsetOfLayerNormalization = 17;
constexpr int64_t kOpsetOfRmsNormalization = 23;

class NormBody : public BodyText {
 public:
  NormBody(onnx::FunctionProto& function, const BodyContext& context)
      : BodyText(function),
        type_(std::to_string(type_of(context, 0))),
        opset_(onnx_opset_of(context)) {}

  void widen(const std::string& to, const std::string& tensor) {
    add(to + " = Cast<to = 1>(" + tensor + ")");
  }
  void narrow(const std::string& to, const std::string& tensor) {
    add(to + " = Cast<to = " + type_ + ">(" + tensor + ")");
  }
  void set_type(int type) { type_ = std::to_string(type); }

  /// Normalizes `x`, float32, along the last axis, multiplies by `scale` and adds `shift` if it has
  /// a name; `to` has the node's type.
  void normalize(const std::string& to, const std::string& x, const std::string& scale,
                 const std::string& shift, bool is_centered, float epsilon) {
    widen("wide_scale", scale);
    if (!shift.empty()) widen("wide_shift", shift);
    if (is_centered && opset_ >= kOpsetOfLayerNormalization) {
      add("normalized = LayerNormalization<axis = -1>(" + x + ", wide_scale" +
              (shift.empty() ? ")" : ", wide_shift)"),
          "epsilon", epsilon);
    } else if (!is_centered && opset_ >= kOpsetOfRmsNormalization) {
      add("normalized = RMSNormalization<axis = -1>(" + x + ", wide_scale)", "epsilon", epsilon);
    } else {
      normalize_in_parts(x, !shift.empty(), is_centered, epsilon);
    }
    narrow(to, "normalized");
  }

 private:
  void normalize_in_parts(const std::string& x, bool has_shift, bool is_centered, float epsilon) {
    ints("last_axis", {-1});
    extent_of_last("row_length", x);
    widen("row_length_in_floats", "row_length");
    std::string centered = x;
    if (is_centered) {
      add("row_sum = ReduceSum<keepdims = 1>(" + x + ", last_axis)");
      add("row_mean = Div(row_sum, row_length_in_floats)");
      add("centered = Sub(" + x + ", row_mean)");
      centered = "centered";
    }
    add("squares = Mul(" + centered + ", " + centered + ")");
    add("square_sum = ReduceSum<keepdims = 1>(squares, last_axis)");
    add("mean_square = Div(square_sum, row_length_in_floats)");
    number("epsilon", epsilon);
    add("with_epsilon = Add(mean_square, epsilon)");
    add("deviation = Sqrt(with_epsilon)");
    add("standard = Div(" + centered + ", deviation)");
    add(std::string(has_shift ? "scaled" : "normalized") + " = Mul(standard, wide_scale)");
    if (has_shift) add("normalized = Add(scaled, wide_shift)");
  }

  std::string type_;
  int64_t opset_;
};

// Whether the node has the mean or the deviation, outputs 1 and 2.
bool wants_statistics(const BodyContext& context) {
  return context.hasOutput(1) || context.hasOutput(2);
}

bool build_skip(const BodyContext& context, const OpSchema& schema, onnx::FunctionProto& function) {
  const bool is_centered = schema.Name() == "SkipLayerNormalization";
  if (type_of(context, 0) == 0) return refuse(function, kTypeUnknown);
  if (wants_statistics(context))
    return refuse(function, "the mean and the deviation as outputs are not supported");
  NormBody body(function, context);
  body.widen("wide_input", "input");
  body.widen("wide_skip", "skip");
  body.add("sum = Add(wide_input, wide_skip)");
  std::string x = "sum";
  if (context.hasInput(is_centered ? 4 : 3)) {
    body.widen("wide_bias", "bias");
    body.add("sum_with_bias = Add(sum, wide_bias)");
    x = "sum_with_bias";
  }
  if (context.hasOutput(3)) body.narrow("input_skip_bias_sum", x);
  const bool has_shift = is_centered && context.hasInput(3);
  body.normalize("output", x, "gamma", has_shift ? "beta" : "", is_centered,
                 float_of(context, "epsilon", 1e-12F));
  schema.BuildFunction(function);
  return true;
}

bool build_simplified(const BodyContext& context, const OpSchema& schema,
                      onnx::FunctionProto& function) {
  const int rank = rank_of(context, 0);
  const int64_t axis = int_of(context, "axis", -1);
  if (type_of(context, 0) == 0 || type_of(context, 1) == 0) return refuse(function, kTypeUnknown);
  if (context.hasOutput(1)) return refuse(function, "the deviation as an output is not supported");
  if (int_of(context, "stash_type", 1) != 1 || (axis != -1 && axis != rank - 1))
    return refuse(function, "expected stash_type 1, and the last axis as axis");
  NormBody body(function, context);
  body.set_type(type_of(context, 1));
  body.widen("x", "X");
  body.normalize("Y", "x", "scale", "", false, float_of(context, "epsilon", 1e-5F));
  schema.BuildFunction(function);
  return true;
}

// Inputs of EmbedLayerNormalization: word, position and optional segment embeddings, which are
// added and normalized.
enum Embedding : int {
  kWords,
  kSegments,
  kWordRows,
  kPlaceRows,
  kSegmentRows,
  kScale,
  kShift,
  kMask,
  kPositionIds
};

bool build_embedding(const BodyContext& context, const OpSchema& schema,
                     onnx::FunctionProto& function) {
  const int type = type_of(context, kWordRows);
  const bool has_segments = context.hasInput(kSegmentRows) && context.hasInput(kSegments);
  if (type == 0) return refuse(function, kTypeUnknown);
  if (int_of(context, "mask_index_type", 1) != 1)
    return refuse(function, "expected mask_index_type 1");
  NormBody body(function, context);
  body.set_type(type);
  body.add("words = Gather(word_embedding, input_ids)");
  std::string positions = "position_ids";
  if (!context.hasInput(kPositionIds)) {
    body.extent("length", "input_ids", 1);
    body.count("positions", "length");
    positions = "positions";
  }
  body.add("rows_of_positions = Gather(position_embedding, " + positions + ")");
  body.widen("wide_words", "words");
  body.widen("wide_positions", "rows_of_positions");
  body.add("placed_words = Add(wide_words, wide_positions)");
  std::string sum = "placed_words";
  if (has_segments) {
    body.add("rows_of_segments = Gather(segment_embedding, segment_ids)");
    body.widen("wide_segments", "rows_of_segments");
    body.add("words_of_segments = Add(placed_words, wide_segments)");
    sum = "words_of_segments";
  }
  body.normalize("output", sum, "gamma", "beta", true, float_of(context, "epsilon", 1e-12F));
  if (context.hasOutput(1)) {
    // mask_index, the number of words of each row; without a mask no node reads it.
    body.ints("row_axis", {1});
    if (context.hasInput(kMask)) {
      body.add("mask_index = ReduceSum<keepdims = 0>(mask, row_axis)");
    } else {
      body.add("no_words = Sub(input_ids, input_ids)");
      body.add("no_counts = ReduceSum<keepdims = 0>(no_words, row_axis)");
      body.add("mask_index = Cast<to = 6>(no_counts)");
    }
  }
  if (context.hasOutput(2)) body.narrow("embedding_sum", sum);
  schema.BuildFunction(function);
  return true;
}

}  // namespace

std::vector<OpSchema> norm_schemas() {
  const auto like_first = [](onnx::InferenceContext& context) {
    onnx::propagateShapeAndTypeFromFirstInput(context);
    if (context.getNumOutputs() > 3) {
      onnx::propagateElemTypeFromInputToOutput(context, 0, 3);
      propagate_shape(context, 3);
    }
  };
  const std::vector<Formal> outputs = {
      {"output", false}, {"mean", true}, {"inv_std_var", true}, {"input_skip_bias_sum", true}};
  std::vector<OpSchema> schemas;
  schemas.push_back(microsoft_schema(
      "SkipLayerNormalization",
      {{"input", false}, {"skip", false}, {"gamma", false}, {"beta", true}, {"bias", true}},
      outputs));
  schemas.back()
      .TypeAndShapeInferenceFunction(like_first)
      .SetContextDependentFunctionBodyBuilder(build_skip);
  schemas.push_back(microsoft_schema(
      "SkipSimplifiedLayerNormalization",
      {{"input", false}, {"skip", false}, {"gamma", false}, {"bias", true}}, outputs));
  schemas.back()
      .TypeAndShapeInferenceFunction(like_first)
      .SetContextDependentFunctionBodyBuilder(build_skip);
  schemas.push_back(microsoft_schema("SimplifiedLayerNormalization",
                                     {{"X", false}, {"scale", false}},
                                     {{"Y", false}, {"inv_std_var", true}}));
  schemas.back()
      .SetDomain("")
      .TypeAndShapeInferenceFunction([](onnx::InferenceContext& context) {
        onnx::propagateElemTypeFromInputToOutput(context, 1, 0);
        propagate_shape(context, 0);
      })
      .SetContextDependentFunctionBodyBuilder(build_simplified);
  schemas.push_back(
      microsoft_schema("EmbedLayerNormalization",
                       {{"input_ids", false},
                        {"segment_ids", true},
                        {"word_embedding", false},
                        {"position_embedding", false},
                        {"segment_embedding", true},
                        {"gamma", false},
                        {"beta", false},
                        {"mask", true},
                        {"position_ids", true}},
                       {{"output", false}, {"mask_index", true}, {"embedding_sum", true}}));
  schemas.back()
      .TypeAndShapeInferenceFunction([](onnx::InferenceContext& context) {
        onnx::propagateElemTypeFromInputToOutput(context, kWordRows, 0);
        if (context.getNumOutputs() > 1)
          onnx::updateOutputElemType(context, 1, onnx::TensorProto::INT32);
        if (context.getNumOutputs() > 2)
          onnx::propagateElemTypeFromInputToOutput(context, kWordRows, 2);
      })
      .SetContextDependentFunctionBodyBuilder(build_embedding);
  return schemas;
}

}  // namespace gantry
