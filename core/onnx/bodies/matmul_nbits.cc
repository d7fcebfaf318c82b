// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/matmul_nbits.h"

#include <onnx/defs/function.h>
#include <onnx/defs/shape_inference.h>
#include <string>
#include <vector>

namespace gantry {
namespace {

// Inputs.
constexpr int kZeroPoints = 3;
constexpr int kOrder = 4;
constexpr int kBiasInput = 5;

int64_t attribute(const onnx::FunctionBodyBuildContext& context, const char* name,
                  int64_t fallback) {
  const onnx::AttributeProto* found = context.getAttribute(name);
  return found ? found->i() : fallback;
}

/// Writes the body of one node.
class Body {
 public:
  explicit Body(onnx::FunctionProto& body) : builder_(body) {}

  void add(const std::string& text) { builder_.Add(text.c_str()); }
  void byte(const char* name, int value) {
    onnx::TensorProto tensor;
    tensor.set_data_type(onnx::TensorProto::UINT8);
    tensor.add_int32_data(value);
    builder_.Add((std::string(name) + " = Constant()").c_str(), "value", tensor);
  }
  void extents(const char* name, const std::vector<int64_t>& values) {
    builder_.Const(name, values);
  }
  /// Two numbers of 4 bits from each byte of `packed`, the low half first, as [rows, count] floats.
  void unpack(const std::string& packed, int64_t rows, int64_t count, const std::string& to) {
    const std::string p = to + "_";
    // Divisions of bytes came with opset 14.
    add(p + "high = BitShift<direction = \"RIGHT\">(" + packed + ", four)");
    add(p + "low = Mod(" + packed + ", sixteen)");
    extents((p + "single").c_str(), {rows, -1, 1});
    add(p + "a = Reshape(" + p + "low, " + p + "single)");
    add(p + "b = Reshape(" + p + "high, " + p + "single)");
    add(p + "pairs = Concat<axis = 2>(" + p + "a, " + p + "b)");
    extents((p + "flat").c_str(), {rows, -1});
    add(p + "bytes = Reshape(" + p + "pairs, " + p + "flat)");
    extents((p + "zeros").c_str(), {0});
    extents((p + "ends").c_str(), {count});
    extents((p + "axes").c_str(), {1});
    add(p + "cut = Slice(" + p + "bytes, " + p + "zeros, " + p + "ends, " + p + "axes)");
    add(to + " = Cast<to = 1>(" + p + "cut)");
  }

 private:
  onnx::FunctionBuilder builder_;
};

bool build(const onnx::FunctionBodyBuildContext& context, const onnx::OpSchema& schema,
           onnx::FunctionProto& function) {
  const int64_t rows = attribute(context, "N", 0);
  const int64_t inner = attribute(context, "K", 0);
  const int64_t bits = attribute(context, "bits", 4);
  const int64_t block = attribute(context, "block_size", 0);
  if (rows < 1 || inner < 1 || block < 1 || (bits != 4 && bits != 8)) return false;
  if (context.hasInput(kOrder)) return false;
  const int64_t blocks = (inner + block - 1) / block;
  Body body(function);
  body.byte("four", 4);
  body.byte("sixteen", 16);
  body.extents("rows_of_bytes", {rows, -1});
  body.add("packed = Reshape(B, rows_of_bytes)");
  if (bits == 4) {
    body.unpack("packed", rows, blocks * block, "numbers");
  } else {
    body.add("numbers = Cast<to = 1>(packed)");
  }
  body.extents("in_blocks", {rows, blocks, block});
  body.extents("by_block", {rows, blocks, 1});
  body.add("stored = Reshape(numbers, in_blocks)");
  if (context.hasInput(kZeroPoints)) {
    const onnx::TypeProto* type = context.getInputType(kZeroPoints);
    const bool is_packed = type && type->tensor_type().elem_type() == onnx::TensorProto::UINT8;
    if (is_packed && bits == 4) {
      body.add("packed_zeros = Reshape(zero_points, rows_of_bytes)");
      body.unpack("packed_zeros", rows, blocks, "zeros_in_rows");
    } else {
      body.add("zeros_in_rows = Cast<to = 1>(zero_points)");
    }
    body.add("zeros = Reshape(zeros_in_rows, by_block)");
  } else {
    body.add(std::string("zeros = Constant<value_float = ") + (bits == 4 ? "8.0" : "128.0") +
             ">()");
  }
  body.add("around_zero = Sub(stored, zeros)");
  body.add("scales_in_floats = Cast<to = 1>(scales)");
  body.add("scales_by_block = Reshape(scales_in_floats, by_block)");
  body.add("scaled = Mul(around_zero, scales_by_block)");
  body.extents("flat", {rows, blocks * block});
  body.add("padded = Reshape(scaled, flat)");
  body.extents("first", {0});
  body.extents("last", {inner});
  body.extents("axis", {1});
  body.add("matrix = Slice(padded, first, last, axis)");
  body.add("turned = Transpose<perm = [1, 0]>(matrix)");
  const onnx::TypeProto* left = context.getInputType(0);
  const int type = left ? left->tensor_type().elem_type() : onnx::TensorProto::FLOAT;
  body.add("factor = Cast<to = " + std::to_string(type) + ">(turned)");
  if (context.hasInput(kBiasInput)) {
    body.add("product = MatMul(A, factor)");
    body.add("Y = Add(product, bias)");
  } else {
    body.add("Y = MatMul(A, factor)");
  }
  schema.BuildFunction(function);
  return true;
}

void infer(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  const onnx::AttributeProto* columns = context.getAttribute("N");
  if (!columns || !onnx::hasInputShape(context, 0)) return;
  onnx::TensorShapeProto shape = onnx::getInputShape(context, 0);
  if (shape.dim_size() == 0) return;
  onnx::TensorShapeProto::Dimension& last = *shape.mutable_dim(shape.dim_size() - 1);
  last.Clear();
  last.set_dim_value(columns->i());
  *onnx::getOutputShape(context, 0) = shape;
}

}  // namespace

onnx::OpSchema matmul_nbits_schema() {
  onnx::OpSchema schema("MatMulNBits", "gantry", 0);
  schema.SetDomain("com.microsoft").SinceVersion(1);
  const std::vector<std::string> floats = {"tensor(float)", "tensor(float16)", "tensor(bfloat16)"};
  schema.Input(0, "A", "", "T1")
      .Input(1, "B", "", "T2")
      .Input(2, "scales", "", "T3")
      .Input(kZeroPoints, "zero_points", "", "T4", onnx::OpSchema::Optional)
      .Input(kOrder, "g_idx", "", "T5", onnx::OpSchema::Optional)
      .Input(kBiasInput, "bias", "", "T1", onnx::OpSchema::Optional)
      .Output(0, "Y", "", "T1")
      .TypeConstraint("T1", floats, "")
      .TypeConstraint("T2", {"tensor(uint8)"}, "")
      .TypeConstraint("T3", floats, "")
      .TypeConstraint("T4",
                      {"tensor(uint8)", "tensor(float)", "tensor(float16)", "tensor(bfloat16)"}, "")
      .TypeConstraint("T5", {"tensor(int32)"}, "")
      .AllowUncheckedAttributes()
      .TypeAndShapeInferenceFunction(infer)
      .SetContextDependentFunctionBodyBuilder(build);
  return schema;
}

}  // namespace gantry
