// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/quantized_operators.h"

#include <onnx/defs/function.h>
#include <onnx/defs/shape_inference.h>
#include <string>
#include <vector>

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
  const int64_t turns = number(context, "transB", 0);
  onnx::FunctionBuilder builder(function);
  builder.Add("a = DequantizeLinear(A, a_scale, a_zero_point)");
  builder.Add("b = DequantizeLinear(B, b_scale, b_zero_point)", "axis",
              int64_t{turns != 0 ? 0 : 1});
  std::string product = "y = Gemm(a, b)";
  if (context.hasInput(kC)) {
    builder.Const1D("alpha", alpha);
    builder.Add("products_scale = Mul(a_scale, b_scale)");
    builder.Add("c_scale = Mul(products_scale, alpha)");
    builder.Add("c = DequantizeLinear(C, c_scale)", "axis", int64_t{0});
    product = "y = Gemm(a, b, c)";
  }
  builder.Add(product.c_str(), "alpha", alpha);
  builder.AddAttributes("transA", number(context, "transA", 0), "transB", turns);
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
  if (count < 5 || count % 3 != 2) return false;
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

constexpr auto kOptional = onnx::OpSchema::Optional;

}  // namespace

onnx::OpSchema qgemm_schema() {
  onnx::OpSchema schema("QGemm", __FILE__, __LINE__);
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
  onnx::OpSchema schema("QLinearConcat", __FILE__, __LINE__);
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
  onnx::OpSchema schema("QLinearSoftmax", __FILE__, __LINE__);
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

}  // namespace gantry
