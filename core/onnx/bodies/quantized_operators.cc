// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/quantized_operators.h"

#include <onnx/defs/function.h>
#include <onnx/defs/shape_inference.h>
#include <string>
#include <vector>

#include "onnx/bodies/body_text.h"

namespace gantry {
namespace {

// Inputs of QGemm.
constexpr int kC = 6;
constexpr int kResultScale = 7;
constexpr int kResultZero = 8;

int64_t number(const onnx::FunctionBodyBuildContext& context, const char* name, int64_t fallback) {
  const onnx::AttributeProto* found = context.getAttribute(name);
  return found ? found->i() : fallback;
}

bool build_qgemm(const onnx::FunctionBodyBuildContext& context, const onnx::OpSchema& schema,
                 onnx::FunctionProto& function) {
  const onnx::AttributeProto* found = context.getAttribute("alpha");
  const float alpha = found ? found->f() : 1.0F;
  const int64_t transposes = number(context, "transB", 0);
  onnx::FunctionBuilder builder(function);
  builder.Add("a = DequantizeLinear(A, a_scale, a_zero_point)");
  builder.Add("b = DequantizeLinear(B, b_scale, b_zero_point)", "axis",
              int64_t{transposes != 0 ? 0 : 1});
  std::string product = "y = Gemm(a, b)";
  if (context.hasInput(kC)) {
    builder.Const1D("alpha", alpha);
    builder.Add("products_scale = Mul(a_scale, b_scale)");
    builder.Add("c_scale = Mul(products_scale, alpha)");
    builder.Add("c = DequantizeLinear(C, c_scale)", "axis", int64_t{0});
    product = "y = Gemm(a, b, c)";
  }
  builder.Add(product.c_str(), "alpha", alpha);
  builder.AddAttributes("transA", number(context, "transA", 0), "transB", transposes);
  builder.Add(context.hasInput(kResultScale) ? "Y = QuantizeLinear(y, y_scale, y_zero_point)"
                                             : "Y = Identity(y)");
  schema.BuildFunction(function);
  return true;
}

void infer_qgemm(onnx::InferenceContext& context) {
  const bool has_type = context.getNumInputs() > static_cast<size_t>(kResultZero) &&
                        context.getInputType(kResultZero);
  if (has_type) {
    onnx::propagateElemTypeFromInputToOutput(context, kResultZero, 0);
  } else {
    onnx::updateOutputElemType(context, 0, onnx::TensorProto::FLOAT);
  }
}

bool build_concat(const onnx::FunctionBodyBuildContext& context, const onnx::OpSchema&,
                  onnx::FunctionProto& function) {
  int count = 2;
  while (context.hasInput(count)) ++count;
  if (count < 5 || count % 3 != 2) {
    return refuse(function,
                  "expected a scale, a zero point and three inputs for each tensor, found " +
                      std::to_string(count) + " inputs");
  }
  function.add_input("y_scale");
  function.add_input("y_zero");
  function.add_output("Y");
  std::string parts;
  onnx::FunctionBuilder builder(function);
  for (int i = 0; i < (count - 2) / 3; ++i) {
    const std::string n = std::to_string(i);
    for (const char* name : {"x", "scale", "zero"}) function.add_input(name + n);
    std::string node = "f" + n;
    for (const char* part : {" = DequantizeLinear(x", ", scale", ", zero"})
      node.append(part).append(n);
    builder.Add(node.append(")").c_str());
    parts += (i > 0 ? ", f" : "f") + n;
  }
  builder.Add(("y = Concat(" + parts + ")").c_str(), "axis", number(context, "axis", 0));
  builder.Add("Y = QuantizeLinear(y, y_scale, y_zero)");
  return true;
}

bool build_softmax(const onnx::FunctionBodyBuildContext& context, const onnx::OpSchema& schema,
                   onnx::FunctionProto& function) {
  const bool is_flat = number(context, "opset", 13) < 13;
  const int64_t axis = number(context, "axis", -1);
  onnx::FunctionBuilder builder(function);
  builder.AddOpset("", 13);
  builder.Add("x = DequantizeLinear(X, X_scale, X_zero_point)");
  if (is_flat) {
    builder.Add("rows = Flatten(x)", "axis", axis);
    builder.Add("parts = Softmax(rows)", "axis", int64_t{1});
    builder.Add("shape = Shape(x)");
    builder.Add("y = Reshape(parts, shape)");
  } else {
    builder.Add("y = Softmax(x)", "axis", axis);
  }
  builder.Add("Y = QuantizeLinear(y, Y_scale, Y_zero_point)");
  schema.BuildFunction(function);
  return true;
}

// Inputs of DynamicQuantizeLSTM with the quantization of its weights.
constexpr int kInputScale = 8;
constexpr int kStateScale = 10;

// Dequantizes weights [directions, in, 4 * hidden], with a scale per direction or per column, and
// transposes them to [directions, 4 * hidden, in], as LSTM has them.
bool add_layer_matrix(BodyText& body, const std::string& matrix, int scale_rank) {
  if (scale_rank != 1 && scale_rank != 2)
    return body.refuse(matrix + "_scale: expected a known rank of 1 or 2");
  const std::vector<int64_t> of_matrix =
      scale_rank == 1 ? std::vector<int64_t>{-1, 1, 1} : std::vector<int64_t>{0, 1, -1};
  body.add(matrix + "_numbers = Cast<to = 1>(" + matrix + ")");
  body.add(matrix + "_zeros = Cast<to = 1>(" + matrix + "_zero_point)");
  body.reshape(matrix + "_zero", matrix + "_zeros", of_matrix);
  body.reshape(matrix + "_step", matrix + "_scale", of_matrix);
  body.add(matrix + "_moved = Sub(" + matrix + "_numbers, " + matrix + "_zero)");
  body.add(matrix + "_floats = Mul(" + matrix + "_moved, " + matrix + "_step)");
  body.add(matrix + "_turned = Transpose<perm = [0, 2, 1]>(" + matrix + "_floats)");
  return true;
}

bool build_layer(const BodyContext& context, const onnx::OpSchema& schema,
                 onnx::FunctionProto& function) {
  BodyText body(function);
  if (!add_layer_matrix(body, "W", rank_of(context, kInputScale)) ||
      !add_layer_matrix(body, "R", rank_of(context, kStateScale))) {
    return false;
  }
  body.add("Y, Y_h, Y_c = LSTM(X, W_turned, R_turned, B, sequence_lens, initial_h, initial_c, P)");
  onnx::NodeProto& layer = *function.mutable_node(function.node_size() - 1);
  for (const char* name : {"activation_alpha", "activation_beta", "activations", "clip",
                           "direction", "hidden_size", "input_forget"}) {
    if (const onnx::AttributeProto* given = context.getAttribute(name))
      *layer.add_attribute() = *given;
  }
  schema.BuildFunction(function);
  return true;
}

constexpr auto kOptional = onnx::OpSchema::Optional;

}  // namespace

onnx::OpSchema qgemm_schema() {
  onnx::OpSchema schema("QGemm", kSchemaFile, 0);
  schema.SetDomain("com.microsoft").SinceVersion(1);
  const std::vector<std::string> bytes = {"tensor(uint8)", "tensor(int8)"};
  schema.Input(0, "A", "", "TA")
      .Input(1, "a_scale", "", "T")
      .Input(2, "a_zero_point", "", "TA")
      .Input(3, "B", "", "TB")
      .Input(4, "b_scale", "", "T")
      .Input(5, "b_zero_point", "", "TB")
      .Input(kC, "C", "", "TC", kOptional)
      .Input(kResultScale, "y_scale", "", "T", kOptional)
      .Input(kResultZero, "y_zero_point", "", "TYZ", kOptional)
      .Output(0, "Y", "", "TY")
      .TypeConstraint("T", {"tensor(float)"}, "")
      .TypeConstraint("TA", bytes, "")
      .TypeConstraint("TB", bytes, "")
      .TypeConstraint("TC", {"tensor(int32)"}, "")
      .TypeConstraint("TYZ", bytes, "")
      .TypeConstraint("TY", {"tensor(float)", "tensor(uint8)", "tensor(int8)"}, "")
      .AllowUncheckedAttributes()
      .TypeAndShapeInferenceFunction(infer_qgemm)
      .SetContextDependentFunctionBodyBuilder(build_qgemm);
  return schema;
}

onnx::OpSchema qlinear_concat_schema() {
  onnx::OpSchema schema("QLinearConcat", kSchemaFile, 0);
  schema.SetDomain("com.microsoft").SinceVersion(1);
  const std::vector<std::string> bytes = {"tensor(uint8)", "tensor(int8)"};
  schema.Input(0, "Y_scale", "", "TF")
      .Input(1, "Y_zero_point", "", "T8")
      .Input(2, "inputs", "", "TV", onnx::OpSchema::Variadic, /*is_homogeneous=*/false)
      .Output(0, "Y", "", "T8")
      .TypeConstraint("TF", {"tensor(float)"}, "")
      .TypeConstraint("T8", bytes, "")
      .TypeConstraint("TV", {"tensor(uint8)", "tensor(int8)", "tensor(float)"}, "")
      .AllowUncheckedAttributes()
      .TypeAndShapeInferenceFunction([](onnx::InferenceContext& context) {
        onnx::propagateElemTypeFromInputToOutput(context, 1, 0);
      })
      .SetContextDependentFunctionBodyBuilder(build_concat);
  return schema;
}

onnx::OpSchema qlinear_softmax_schema() {
  onnx::OpSchema schema("QLinearSoftmax", kSchemaFile, 0);
  schema.SetDomain("com.microsoft").SinceVersion(1);
  schema.Input(0, "X", "", "T")
      .Input(1, "X_scale", "", "TF")
      .Input(2, "X_zero_point", "", "T", kOptional)
      .Input(3, "Y_scale", "", "TF")
      .Input(4, "Y_zero_point", "", "T")
      .Output(0, "Y", "", "T")
      .TypeConstraint("T", {"tensor(uint8)", "tensor(int8)"}, "")
      .TypeConstraint("TF", {"tensor(float)"}, "")
      .AllowUncheckedAttributes()
      .TypeAndShapeInferenceFunction(onnx::propagateShapeAndTypeFromFirstInput)
      .SetContextDependentFunctionBodyBuilder(build_softmax);
  return schema;
}

onnx::OpSchema dynamic_quantize_lstm_schema() {
  onnx::OpSchema schema = microsoft_schema("DynamicQuantizeLSTM",
                                           {{"X", false},
                                            {"W", false},
                                            {"R", false},
                                            {"B", true},
                                            {"sequence_lens", true},
                                            {"initial_h", true},
                                            {"initial_c", true},
                                            {"P", true},
                                            {"W_scale", false},
                                            {"W_zero_point", false},
                                            {"R_scale", false},
                                            {"R_zero_point", false}},
                                           {{"Y", true}, {"Y_h", true}, {"Y_c", true}});
  schema
      .TypeAndShapeInferenceFunction([](onnx::InferenceContext& context) {
        for (size_t i = 0; i < context.getNumOutputs(); ++i)
          onnx::updateOutputElemType(context, i, onnx::TensorProto::FLOAT);
      })
      .SetContextDependentFunctionBodyBuilder(build_layer);
  return schema;
}

}  // namespace gantry
