// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/matmul_nbits.h"

#include <onnx/defs/shape_inference.h>
#include <string>
#include <vector>

#include "onnx/bodies/block_operators.h"
#include "onnx/bodies/body_text.h"

namespace gantry {
namespace {

// Input indices.
constexpr int kZeroPoints = 3;
constexpr int kOrder = 4;
constexpr int kBiasInput = 5;

// `to`: float32 [rows, count], unpacked from rows of bytes.
void unpack_rows(BodyText& body, const std::string& to, const std::string& packed, int64_t bits,
                 int64_t count) {
  unpack_bits(body, to + "_all", packed, bits);
  body.ints(to + "_first", {0});
  body.ints(to + "_end", {count});
  body.slice(to, to + "_all", to + "_first", to + "_end", 1);
}

bool build(const BodyContext& context, BodyText& body) {
  const int64_t rows = int_of(context, "N", 0);
  const int64_t inner = int_of(context, "K", 0);
  const int64_t bits = int_of(context, "bits", 4);
  const int64_t block = int_of(context, "block_size", 0);
  if (rows < 1 || inner < 1 || block < 1)
    return body.refuse("expected N, K and block_size of 1 or more");
  if (bits != 2 && bits != 4 && bits != 8)
    return body.refuse("bits: expected 2, 4 or 8, found " + std::to_string(bits));
  const int64_t blocks = (inner + block - 1) / block;
  const bool has_order = context.hasInput(kOrder);
  body.ints("rows_of_bytes", {rows, -1});
  body.add("packed = Reshape(B, rows_of_bytes)");
  unpack_rows(body, "stored", "packed", bits, blocks * block);
  body.ints("by_block", {rows, blocks});
  body.add("scales_in_floats = Cast<to = 1>(scales)");
  body.add("scales_by_block = Reshape(scales_in_floats, by_block)");
  const bool has_zeros = context.hasInput(kZeroPoints);
  if (has_zeros) {
    if (type_of(context, kZeroPoints) == onnx::TensorProto::UINT8) {
      body.add("packed_zeros = Reshape(zero_points, rows_of_bytes)");
      unpack_rows(body, "zeros_in_rows", "packed_zeros", bits, blocks);
    } else {
      body.add("zeros_in_rows = Cast<to = 1>(zero_points)");
    }
    body.add("zeros_by_block = Reshape(zeros_in_rows, by_block)");
  } else {
    body.number("zeros", static_cast<float>(int64_t{1} << (bits - 1)));
  }
  if (has_order) {
    // g_idx has the block of each row of the matrix.
    body.add("order = Cast<to = 7>(g_idx)");
    body.ints("first", {0});
    body.ints("last", {inner});
    body.slice("numbers", "stored", "first", "last", 1);
    body.add("factors = Gather<axis = 1>(scales_by_block, order)");
    if (has_zeros) body.add("zeros = Gather<axis = 1>(zeros_by_block, order)");
    body.add("around_zero = Sub(numbers, zeros)");
    body.add("matrix = Mul(around_zero, factors)");
  } else {
    body.ints("block_axis", {2});
    body.reshape("in_blocks", "stored", std::vector<int64_t>{rows, blocks, block});
    body.add("factors = Unsqueeze(scales_by_block, block_axis)");
    if (has_zeros) body.add("zeros = Unsqueeze(zeros_by_block, block_axis)");
    body.add("around_zero = Sub(in_blocks, zeros)");
    body.add("scaled = Mul(around_zero, factors)");
    body.reshape("padded", "scaled", std::vector<int64_t>{rows, blocks * block});
    body.ints("first", {0});
    body.ints("last", {inner});
    body.slice("matrix", "padded", "first", "last", 1);
  }
  body.add("transposed = Transpose<perm = [1, 0]>(matrix)");
  const int type = type_of(context, 0) == 0 ? onnx::TensorProto::FLOAT : type_of(context, 0);
  body.add("factor" + cast_to(type) + "transposed)");
  if (context.hasInput(kBiasInput)) {
    body.add("product = MatMul(A, factor)");
    body.add("Y = Add(product, bias)");
  } else {
    body.add("Y = MatMul(A, factor)");
  }
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
  onnx::OpSchema schema("MatMulNBits", kSchemaFile, 0);
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
      .TypeAndShapeInferenceFunction(infer);
  set_body(schema, build);
  return schema;
}

}  // namespace gantry
