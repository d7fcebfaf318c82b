// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/microsoft.h"

#include <gantry/error.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <onnx/defs/function.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>
#include <string>
#include <string_view>

#include "onnx/bodies/attention_operators.h"
#include "onnx/bodies/block_operators.h"
#include "onnx/bodies/body_text.h"
#include "onnx/bodies/expert_operators.h"
#include "onnx/bodies/fused_operators.h"
#include "onnx/bodies/gated_operators.h"
#include "onnx/bodies/generation/generation_operators.h"
#include "onnx/bodies/matmul_nbits.h"
#include "onnx/bodies/nchwc_operators.h"
#include "onnx/bodies/norm_operators.h"
#include "onnx/bodies/quantized_operators.h"
#include "onnx/bodies/state_operators.h"
#include "onnx/bodies/tensor_operators.h"
#include "onnx/messages/proto.h"

namespace gantry {
namespace {

/// Type inference of the output before the body is inlined.
enum class Result {
  kLikeFirst,
  kOfFirstType,
  kOfFirstTypeAndRank,
  kOfSecondType,
  kFloat,
  kOfSecondTypeLikeFirst,
  kBytesLikeFirst,
  kEmbedding
};

/// An operator with a fixed body, except for absent inputs and the type of constants, which is that
/// of the first input. Inputs named ..._zero_point, ..._or_none, bias (added to the result) and
/// addend (which the body's first node adds) may be absent.
struct MicrosoftOperator {
  const char* text;  // a function in the ONNX text format
  Result result;
};

/// An 8-bit operator defined by a float operator: the body dequantizes each operand with its scale
/// and zero point, and quantizes the result.
struct QuantizedOperator {
  const char* name;
  const char* attributes;
  const char* operands;  // a letter each; the lower-case one is the dequantized tensor
  const char* node;      // the float operator
  Result result;
};

constexpr char kPool[] =
    "AveragePool<auto_pad: string = @auto_pad, ceil_mode: int = @ceil_mode, "
    "count_include_pad: int = @count_include_pad, kernel_shape: ints = @kernel_shape, "
    "pads: ints = @pads, strides: ints = @strides>(x)";

constexpr std::array<QuantizedOperator, 6> kQuantizedOperators = {{
    {"QLinearAdd", "", "AB", "Add(a, b)", Result::kOfFirstType},
    {"QLinearMul", "", "AB", "Mul(a, b)", Result::kOfFirstType},
    {"QLinearSigmoid", "", "X", "Sigmoid(x)", Result::kLikeFirst},
    {"QLinearLeakyRelu", "<alpha: float = 0.01>", "X", "LeakyRelu<alpha: float = @alpha>(x)",
     Result::kLikeFirst},
    {"QLinearGlobalAveragePool", "<channels_last: int = 0>", "X", "GlobalAveragePool(x)",
     Result::kOfFirstTypeAndRank},
    {"QLinearAveragePool",
     "<auto_pad, ceil_mode, count_include_pad, kernel_shape, pads, strides, "
     "channels_last: int = 0>",
     "X", kPool, Result::kOfFirstTypeAndRank},
}};

std::string text_of(const QuantizedOperator& entry) {
  std::string inputs;
  std::string nodes;
  for (const char operand : std::string_view(entry.operands)) {
    std::string slots(1, operand);
    for (const char* suffix : {"_scale", "_zero_point"})
      slots.append(", ").append(1, operand).append(suffix);
    inputs.append(slots).append(", ");
    nodes.append(1, static_cast<char>(operand - 'A' + 'a'));
    nodes.append(" = DequantizeLinear(").append(slots).append(") ");
  }
  std::string text = entry.name;
  text.append(entry.attributes)
      .append(" (")
      .append(inputs)
      .append("Y_scale, Y_zero_point) => (Y) { ");
  text.append(nodes).append("y = ").append(entry.node);
  return text.append(" Y = QuantizeLinear(y, Y_scale, Y_zero_point) }");
}

constexpr std::array<MicrosoftOperator, 12> kMicrosoftOperators = {{
    {R"(NhwcMaxPool <auto_pad, ceil_mode, dilations, kernel_shape, pads, strides> (X) => (Y) {
      Y = MaxPool<auto_pad: string = @auto_pad, ceil_mode: int = @ceil_mode,
                  dilations: ints = @dilations, kernel_shape: ints = @kernel_shape,
                  pads: ints = @pads, strides: ints = @strides>(X)
    })",
     Result::kOfFirstTypeAndRank},
    {R"(QLinearConv <auto_pad, dilations, group, kernel_shape, pads, strides, channels_last: int = 0>
        (X, X_scale, X_zero_point, W, W_scale, W_zero_point, Y_scale, Y_zero_point, B_or_none)
        => (Y) {
      Y = QLinearConv<auto_pad: string = @auto_pad, dilations: ints = @dilations,
                      group: int = @group, kernel_shape: ints = @kernel_shape,
                      pads: ints = @pads, strides: ints = @strides>(
          X, X_scale, X_zero_point, W, W_scale, W_zero_point, Y_scale, Y_zero_point, B_or_none)
    })",
     Result::kOfFirstTypeAndRank},
    {R"(QLinearWhere (C, X, X_scale, X_zero_point, Y, Y_scale, Y_zero_point, Z_scale, Z_zero_point)
        => (Z) {
      x = DequantizeLinear(X, X_scale, X_zero_point)
      y = DequantizeLinear(Y, Y_scale, Y_zero_point)
      z = Where(C, x, y)
      Z = QuantizeLinear(z, Z_scale, Z_zero_point)
    })",
     Result::kOfSecondType},
    {R"(QEmbedLayerNormalization <epsilon: float = 1e-12> (input_ids, segments_or_none, word_table,
        position_table, segment_table_or_none, gamma_table, beta_table, mask_or_none, word_scale,
        position_scale, segment_scale_or_none, gamma_scale, beta_scale, word_zero_point,
        position_zero_point, segment_zero_point, gamma_zero_point, beta_zero_point)
        => (Y, mask_index) {
      words = DequantizeLinear(word_table, word_scale, word_zero_point)
      positions = DequantizeLinear(position_table, position_scale, position_zero_point)
      segments = DequantizeLinear(segment_table_or_none, segment_scale_or_none, segment_zero_point)
      gamma = DequantizeLinear(gamma_table, gamma_scale, gamma_zero_point)
      beta = DequantizeLinear(beta_table, beta_scale, beta_zero_point)
      Y, mask_index = com.microsoft.EmbedLayerNormalization<epsilon: float = @epsilon>(
          input_ids, segments_or_none, words, positions, segments, gamma, beta, mask_or_none)
    })",
     Result::kEmbedding},
    {R"(DequantizeLinear <axis: int = 1> (X, X_scale, X_zero_point) => (Y) {
      Y = DequantizeLinear<axis: int = @axis>(X, X_scale, X_zero_point)
    })",
     Result::kOfSecondTypeLikeFirst},
    {R"(QuantizeLinear <axis: int = 1> (X, Y_scale, Y_zero_point) => (Y) {
      Y = QuantizeLinear<axis: int = @axis>(X, Y_scale, Y_zero_point)
    })",
     Result::kBytesLikeFirst},
    {R"(DynamicQuantizeMatMul (A, B, B_scale, B_zero_point, bias) => (Y) {
      q, scale, zero = DynamicQuantizeLinear(A)
      i = MatMulInteger(q, B, zero, B_zero_point)
      f = Cast<to = 1>(i)
      s = Mul(scale, B_scale)
      Y = Mul(f, s)
    })",
     Result::kFloat},
    {R"(MatMulIntegerToFloat (A, B, A_scale, B_scale, A_zero_point, B_zero_point, bias) => (Y) {
      i = MatMulInteger(A, B, A_zero_point, B_zero_point)
      f = Cast<to = 1>(i)
      s = Mul(A_scale, B_scale)
      Y = Mul(f, s)
    })",
     Result::kFloat},
    {R"(Gelu (X) => (Y) {
      half = Constant<value_float = 0.5>()
      one = Constant<value_float = 1.0>()
      root = Constant<value_float = 1.4142135>()
      a = Div(X, root)
      b = Erf(a)
      c = Add(b, one)
      d = Mul(X, c)
      Y = Mul(d, half)
    })",
     Result::kLikeFirst},
    {R"(BiasGelu (A, B) => (Y) {
      X = Add(A, B)
      Y = com.microsoft.Gelu(X)
    })",
     Result::kLikeFirst},
    {R"(FastGelu (A, addend) => (Y) {
      X = Add(A, addend)
      half = Constant<value_float = 0.5>()
      one = Constant<value_float = 1.0>()
      factor = Constant<value_float = 0.79788456>()
      cubic = Constant<value_float = 0.044715>()
      a = Mul(X, X)
      b = Mul(a, X)
      c = Mul(cubic, b)
      d = Add(X, c)
      e = Mul(factor, d)
      f = Tanh(e)
      g = Add(f, one)
      h = Mul(X, g)
      Y = Mul(h, half)
    })",
     Result::kLikeFirst},
    {R"(QuickGelu <alpha: float = 1.702> (X) => (Y) {
      factor = Constant<value_float: float = @alpha>()
      a = Mul(X, factor)
      b = Sigmoid(a)
      Y = Mul(X, b)
    })",
     Result::kLikeFirst},
}};

onnx::FunctionProto parse_function(const std::string& text) {
  const std::string whole = "<domain: \"com.microsoft\", opset_import: [\"\" : 13]> " + text;
  onnx::FunctionProto function;
  onnx::OnnxParser parser(whole.c_str());
  const onnx::Common::Status status = parser.Parse(function);
  if (!status.IsOK()) throw Error(Code::kInternal, status.ErrorMessage());
  return function;
}

bool may_be_absent(const std::string& input) {
  const std::string_view name = input;
  return name == "bias" || name == "addend" || name.ends_with("_zero_point") ||
         name.ends_with("_or_none");
}

onnx::InferenceFunction inference_of(Result result) {
  return [result](onnx::InferenceContext& context) {
    switch (result) {
      case Result::kLikeFirst:
        onnx::propagateShapeAndTypeFromFirstInput(context);
        return;
      case Result::kOfFirstType:
        onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
        return;
      case Result::kOfFirstTypeAndRank:
        onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
        set_rank(context, rank_of(context, 0));
        return;
      case Result::kOfSecondType:
        onnx::propagateElemTypeFromInputToOutput(context, 1, 0);
        return;
      case Result::kEmbedding:
        onnx::updateOutputElemType(context, 0, onnx::TensorProto::FLOAT);
        if (context.getNumOutputs() > 1)
          onnx::updateOutputElemType(context, 1, onnx::TensorProto::INT32);
        return;
      case Result::kFloat:
        onnx::updateOutputElemType(context, 0, onnx::TensorProto::FLOAT);
        return;
      case Result::kOfSecondTypeLikeFirst:
        onnx::propagateElemTypeFromInputToOutput(context, 1, 0);
        propagate_shape(context, 0);
        return;
      case Result::kBytesLikeFirst:
        if (context.getNumInputs() > 2 && context.getInputType(2)) {
          onnx::propagateElemTypeFromInputToOutput(context, 2, 0);
        } else {
          onnx::updateOutputElemType(context, 0, onnx::TensorProto::UINT8);
        }
        propagate_shape(context, 0);
        return;
    }
  };
}

// Resolves attributes that refer to the call's: an absent one gets the default of the text or, if
// there is none, is removed.
void settle_attributes(const onnx::FunctionProto& function,
                       const onnx::FunctionBodyBuildContext& context, onnx::NodeProto& node) {
  for (int i = node.attribute_size() - 1; i >= 0; --i) {
    const std::string reference = node.attribute(i).ref_attr_name();
    if (reference.empty() || context.getAttribute(reference)) continue;
    const auto& defaults = function.attribute_proto();
    const auto found = std::find_if(defaults.begin(), defaults.end(),
                                    [&](const auto& known) { return known.name() == reference; });
    if (found == defaults.end()) {
      node.mutable_attribute()->DeleteSubrange(i, 1);
      continue;
    }
    const std::string name = node.attribute(i).name();
    *node.mutable_attribute(i) = *found;
    node.mutable_attribute(i)->set_name(name);
  }
}

// Casts a constant of the body to `type`.
void settle_number(const onnx::NodeProto& number, int type, onnx::FunctionProto& body) {
  onnx::NodeProto& constant = *body.add_node();
  constant = number;
  const std::string& name = number.output(0);
  constant.set_output(0, name + "_in_floats");
  onnx::NodeProto& cast = *body.add_node();
  cast.set_op_type("Cast");
  cast.add_input(constant.output(0));
  cast.add_output(name);
  onnx::AttributeProto& to = *cast.add_attribute();
  to.set_name("to");
  to.set_type(onnx::AttributeProto::INT);
  to.set_i(type);
}

// The type of the first input; 0: it is not known.
int type_of_first(const onnx::FunctionBodyBuildContext& context) {
  const onnx::TypeProto* type = context.hasInput(0) ? context.getInputType(0) : nullptr;
  return type ? type->tensor_type().elem_type() : 0;
}

// Puts Transposes around channels-first nodes from X to Y, for channels-last tensors. False: the
// rank is unknown.
bool turn_channels(const onnx::FunctionBodyBuildContext& context, onnx::FunctionProto& body) {
  const int rank = rank_of(context, 0);
  if (rank < 3) return refuse(body, "X: expected a known rank of 3 or more for channels_last");
  std::string inward = "0, " + std::to_string(rank - 1);
  std::string outward = "0";
  for (int axis = 1; axis < rank - 1; ++axis) inward += ", " + std::to_string(axis);
  for (int axis = 2; axis < rank; ++axis) outward += ", " + std::to_string(axis);
  outward += ", 1";
  onnx::FunctionProto inner;
  inner.mutable_node()->Swap(body.mutable_node());
  onnx::FunctionBuilder builder(body);
  builder.Add(("X_channels_first = Transpose<perm = [" + inward + "]>(X)").c_str());
  for (onnx::NodeProto& node : *inner.mutable_node()) {
    for (std::string& name : *node.mutable_input()) {
      if (name == "X") name = "X_channels_first";
    }
    for (std::string& name : *node.mutable_output()) {
      if (name == "Y") name = "Y_channels_first";
    }
    body.add_node()->Swap(&node);
  }
  builder.Add(("Y = Transpose<perm = [" + outward + "]>(Y_channels_first)").c_str());
  return true;
}

// True if ai.onnx quantizes that type, or has scales of it, from opset 21 on alone.
bool is_quantized_later(int type) {
  constexpr std::array kTypes = {onnx::TensorProto::INT16,   onnx::TensorProto::UINT16,
                                 onnx::TensorProto::INT4,    onnx::TensorProto::UINT4,
                                 onnx::TensorProto::FLOAT16, onnx::TensorProto::BFLOAT16};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

// True if the model's opset lacks what the body quantizes. The body is asked for again then, for an
// opset that has it.
bool needs_later_opset(const onnx::FunctionProto& function,
                       const onnx::FunctionBodyBuildContext& context) {
  const auto& nodes = function.node();
  const bool quantizes = std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
    return node.op_type() == "DequantizeLinear" || node.op_type() == "QuantizeLinear";
  });
  if (!quantizes || onnx_opset_of(context) >= 21) return false;
  for (int i = 0; i < function.input_size(); ++i) {
    if (context.hasInput(i) && is_quantized_later(type_of(context, i))) return true;
  }
  return false;
}

bool is_absent_input(const onnx::FunctionProto& function,
                     const onnx::FunctionBodyBuildContext& context, const std::string& name) {
  const auto& inputs = function.input();
  const auto found = std::find(inputs.begin(), inputs.end(), name);
  return found != inputs.end() && !context.hasInput(static_cast<int>(found - inputs.begin()));
}

// Adds a zero point of that type for a QuantizeLinear that has none: it would quantize to uint8.
void add_zero_point(onnx::NodeProto& quantize, int type, onnx::FunctionProto& body) {
  onnx::FunctionBuilder(body).Add("no_zero_point = Constant<value_float = 0.0>()");
  onnx::NodeProto zero = body.node(body.node_size() - 1);
  body.mutable_node()->RemoveLast();
  settle_number(zero, type, body);
  quantize.set_input(2, zero.output(0));
}

// The body for a node; false: there is none for it.
bool build(const onnx::FunctionProto& function, const onnx::FunctionBodyBuildContext& context,
           onnx::FunctionProto& body) {
  body = function;
  body.clear_node();
  if (needs_later_opset(function, context)) return false;
  const int type = type_of_first(context);
  const bool is_narrow = type != 0 && type != onnx::TensorProto::FLOAT;
  std::vector<std::string> absent;  // absent inputs, and values computed from them
  for (int i = 0; i < function.input_size(); ++i) {
    if (!context.hasInput(i) && function.input(i).ends_with("_or_none"))
      absent.push_back(function.input(i));
  }
  const auto is_absent = [&](const std::string& name) {
    return std::find(absent.begin(), absent.end(), name) != absent.end();
  };
  for (onnx::NodeProto node : function.node()) {
    if (node.op_type() == "DequantizeLinear" && is_absent(node.input(0))) {
      absent.push_back(node.output(0));
      continue;
    }
    for (std::string& name : *node.mutable_input()) {
      if (is_absent(name)) name.clear();
    }
    settle_attributes(function, context, node);
    const bool is_result_of_first = function.name().starts_with("QLinear") &&
                                    function.name() != "QLinearWhere" &&
                                    node.op_type() == "QuantizeLinear" && type != 0;
    if (is_result_of_first && is_absent_input(function, context, node.input(2)))
      add_zero_point(node, type, body);
    const bool is_addition = node.input_size() == 2 && node.input(1) == "addend";
    if (is_addition && !context.hasInput(1)) {
      node.set_op_type("Identity");
      node.mutable_input()->RemoveLast();
    }
    if (is_narrow && node.op_type() == "Constant") {
      settle_number(node, type, body);
    } else {
      *body.add_node() = node;
    }
  }
  body.clear_attribute_proto();
  for (const onnx::AttributeProto& attribute : function.attribute_proto())
    body.add_attribute(attribute.name());
  const int inputs = function.input_size();
  const bool has_bias =
      inputs > 0 && function.input(inputs - 1) == "bias" && context.hasInput(inputs - 1);
  if (has_bias) {
    body.mutable_node(body.node_size() - 1)->set_output(0, "product");
    onnx::NodeProto& sum = *body.add_node();
    sum.set_op_type("Add");
    sum.add_input("product");
    sum.add_input("bias");
    sum.add_output("Y");
  }
  const bool is_channels_last =
      function.name() == "NhwcMaxPool" || int_of(context, "channels_last", 0) != 0;
  return !is_channels_last || turn_channels(context, body);
}

onnx::OpSchema schema_of(const std::string& text, Result result) {
  const onnx::FunctionProto function = parse_function(text);
  onnx::OpSchema schema(function.name(), kSchemaFile, 0);
  schema.SetDomain(kMicrosoftDomain).SinceVersion(1);
  for (int i = 0; i < function.input_size(); ++i) {
    const std::string type = "T" + std::to_string(i);
    schema.Input(
        i, function.input(i), "", type,
        may_be_absent(function.input(i)) ? onnx::OpSchema::Optional : onnx::OpSchema::Single);
    schema.TypeConstraint(type, onnx::OpSchema::all_tensor_types_ir13(), "");
  }
  for (int i = 0; i < function.output_size(); ++i) {
    const std::string type = "TY" + std::to_string(i);
    schema.Output(i, function.output(i), "", type);
    schema.TypeConstraint(type, onnx::OpSchema::all_tensor_types_ir13(), "");
  }
  schema.AllowUncheckedAttributes();
  schema.TypeAndShapeInferenceFunction(inference_of(result));
  schema.SetContextDependentFunctionBodyBuilder(
      [function](const onnx::FunctionBodyBuildContext& context, const onnx::OpSchema&,
                 onnx::FunctionProto& body) { return build(function, context, body); });
  return schema;
}

}  // namespace

std::vector<onnx::OpSchema> microsoft_schemas() {
  std::vector<onnx::OpSchema> schemas;
  schemas.reserve(std::size(kQuantizedOperators) + std::size(kMicrosoftOperators));
  for (const QuantizedOperator& entry : kQuantizedOperators)
    schemas.push_back(schema_of(text_of(entry), entry.result));
  for (const MicrosoftOperator& entry : kMicrosoftOperators)
    schemas.push_back(schema_of(entry.text, entry.result));
  for (onnx::OpSchema& schema : attention_schemas()) schemas.push_back(std::move(schema));
  for (onnx::OpSchema& schema : norm_schemas()) schemas.push_back(std::move(schema));
  schemas.push_back(matmul_nbits_schema());
  schemas.push_back(qgemm_schema());
  schemas.push_back(qlinear_concat_schema());
  schemas.push_back(qlinear_softmax_schema());
  schemas.push_back(dynamic_quantize_lstm_schema());
  for (const auto family : {fused_schemas, tensor_schemas, gated_schemas, block_schemas,
                            state_schemas, expert_schemas, nchwc_schemas, generation_schemas}) {
    for (onnx::OpSchema& schema : family()) schemas.push_back(std::move(schema));
  }
  return schemas;
}

}  // namespace gantry
