// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/block_operators.h"

#include <algorithm>

namespace gantry {
namespace {

std::string at_axis(int64_t axis) { return "<axis = " + std::to_string(axis) + ">("; }

// A uint8 constant.
void add_byte(BodyText& body, const std::string& name, int64_t value) {
  body.number(name + "_wide", value);
  body.add(name + cast_to(onnx::TensorProto::UINT8) + name + "_wide)");
}

/// `to`: the index of the block of each element of an axis of extent `length`.
void number_blocks(BodyText& body, const std::string& to, const std::string& length,
                   int64_t block) {
  body.number(to + "_size", block);
  body.count(to + "_places", length);
  body.add(to + " = Div(" + to + "_places, " + to + "_size)");
}

bool is_integer_of_4_bits(int type) {
  return type == onnx::TensorProto::INT4 || type == onnx::TensorProto::UINT4;
}

// Gathers rows; an index out of range is clamped.
void gather_rows(BodyText& body, const std::string& to, const std::string& tensor, int64_t axis) {
  body.add(to + " = Gather" + at_axis(axis) + tensor + ", safe_indices)");
}

// Whether the extents of the scales match the blocks of the data, as far as both are known.
bool has_fitting_scales(const BodyContext& context, int64_t block_axis, int64_t block,
                        int64_t parts, bool is_integer) {
  const int rank = rank_of(context, 0);
  if (rank_of(context, 2) >= 0 && rank_of(context, 2) != rank) return false;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t data = extent_of(context, 0, axis);
    const int64_t scales = extent_of(context, 2, axis);
    if (data < 0 || scales < 0) continue;
    const bool is_blocked = axis == block_axis;
    const int64_t expected = !is_blocked  ? data
                             : block == 0 ? 1
                                          : (data * parts + block - 1) / block;
    if (scales != expected && (is_integer || is_blocked || scales != 1)) return false;
  }
  return true;
}

bool build_gather(const BodyContext& context, BodyText& body) {
  const int type = type_of(context, 0);
  const int result = type_of(context, 2);
  const int rank = rank_of(context, 0);
  const int index_rank = rank_of(context, 1);
  const int64_t bits = int_of(context, "bits", 4);
  const int64_t block = int_of(context, "block_size", 128);
  int64_t gather_axis = int_of(context, "gather_axis", 0);
  int64_t block_axis = int_of(context, "quantize_axis", 1);
  if (gather_axis < 0) gather_axis += rank;
  if (block_axis < 0) block_axis += rank;
  const bool is_packed = type == onnx::TensorProto::UINT8;
  const bool is_integer = is_packed || is_integer_of_4_bits(type);
  // Shape takes 4-bit integers from opset 21 on: asked for again then, for one that does.
  if (is_integer_of_4_bits(type) && onnx_opset_of(context) < 21) return false;
  if (rank < 1 || index_rank < 0 || result == 0 || type == 0)
    return body.refuse("the types or ranks of the inputs are not known before the run");
  if (gather_axis >= rank || block_axis >= rank || gather_axis < 0 || block_axis < 0 ||
      block < (is_integer ? 1 : 0))
    return body.refuse("gather_axis, quantize_axis or block_size do not fit the data");
  if (is_packed && ((bits != 2 && bits != 4 && bits != 8) || gather_axis != 0 ||
                    block_axis != rank - 1 || rank < 2)) {
    return body.refuse(
        "uint8 data: expected 2, 4 or 8 bits, gather_axis 0 and quantize_axis the last");
  }
  const int64_t parts = is_packed ? 8 / bits : 1;  // quantized elements in an element of the input
  if (!has_fitting_scales(context, block_axis, block, parts, is_integer))
    return body.refuse("the extents of the scales do not fit the blocks of the data");
  // If the gathered axis is the block axis, it cannot be expanded by blocks afterwards.
  const bool is_block_gathered = gather_axis == block_axis;
  const bool has_zeros = context.hasInput(3);

  body.add("wide_indices = Cast<to = 7>(indices)");
  body.extent("row_extent", "data", gather_axis);
  body.add("rows = Squeeze(row_extent)");
  body.number("zero", int64_t{0});
  body.number("one", int64_t{1});
  body.add_lines(R"(
    minus_rows = Neg(rows)
    last_row = Sub(rows, one)
    is_low = Less(wide_indices, minus_rows)
    is_high = Greater(wide_indices, last_row)
    is_outside = Or(is_low, is_high)
    safe_indices = Where(is_outside, zero, wide_indices))");
  // Gathers floats: not every opset has data movement for 4-bit types.
  const auto unpacked = [&](const std::string& to, const std::string& tensor) {
    if (is_packed) {
      unpack_bits(body, to, tensor, bits);
    } else {
      body.add(to + " = Cast<to = 1>(" + tensor + ")");
    }
  };
  const auto gathered = [&](const std::string& to, const std::string& tensor, bool is_wide) {
    if (is_wide) return gather_rows(body, to, tensor, gather_axis);
    gather_rows(body, to + "_stored", tensor, gather_axis);
    unpacked(to, to + "_stored");
  };
  const int64_t axis_now =
      is_block_gathered || block_axis < gather_axis ? block_axis : block_axis + index_rank - 1;
  if (is_packed) {
    gathered("numbers", "data", false);
    gather_rows(body, "scale_rows", "scales", gather_axis);
    if (has_zeros) gathered("zero_rows", "zero_points", false);
  } else {
    unpacked("all_numbers", "data");
    gathered("numbers", "all_numbers", true);
  }
  body.add("wide_scales = Cast<to = 1>(" + std::string(is_packed ? "scale_rows)" : "scales)"));
  if (has_zeros && !is_packed) unpacked("wide_zeros", "zero_points");
  const std::string zeros = is_packed ? "zero_rows" : "wide_zeros";
  // Block indices by element of the block axis.
  const std::string axis_owner = is_packed ? "numbers" : "data";
  const int64_t axis_before = is_packed ? axis_now : block_axis;
  body.extent("length", axis_owner, axis_before);
  if (block == 0) {
    body.ints("first_block_axis", {0});
    body.add("blocks = Expand(first_block_axis, length)");
  } else {
    number_blocks(body, "blocks", "length", block);
  }
  const auto expanded = [&](const std::string& to, const std::string& tensor) {
    body.add(to + "_by_element = Gather" + at_axis(axis_before) + tensor + ", blocks)");
    if (is_packed) {
      body.add(to + " = Identity(" + to + "_by_element)");
      return;
    }
    body.add("shape_for_" + to + " = Shape(data)");
    body.add(to + "_whole = Expand(" + to + "_by_element, shape_for_" + to + ")");
    gather_rows(body, to, to + "_whole", gather_axis);
  };
  expanded("factors", "wide_scales");
  std::string centered = "numbers";
  if (has_zeros) {
    expanded("centers", zeros);
    body.add("centered = Sub(numbers, centers)");
    centered = "centered";
  } else if (is_packed) {
    body.number("center", static_cast<float>(int64_t{1} << (bits - 1)));
    body.add("centered = Sub(numbers, center)");
    centered = "centered";
  }
  body.add("products = Mul(" + centered + ", factors)");
  std::vector<int64_t> behind;
  for (int64_t axis = gather_axis + 1; axis < rank; ++axis)
    behind.push_back(index_rank + axis - gather_axis - 1);
  std::string outside = "is_outside";
  if (!behind.empty()) {
    body.unsqueeze("is_row_outside", "is_outside", behind);
    outside = "is_row_outside";
  }
  body.number("nothing", 0.0F);
  body.add("wide_output = Where(" + outside + ", nothing, products)");
  body.add("output" + cast_to(result) + "wide_output)");
  return true;
}

// The 16 values of FP4 and NF4.
const std::vector<float>& meaning_of(bool is_normal) {
  static const std::vector<float> kFloats = {
      0.0F,  5.208333333e-03F,  0.66666667F,  1.0F,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
      -0.0F, -5.208333333e-03F, -0.66666667F, -1.0F, -0.33333333F, -0.5F, -0.16666667F, -0.25F};
  static const std::vector<float> kNormals = {
      -1.0F,          -0.696192801F, -0.52507305145F, -0.394917488F, -0.284441382F, -0.184773430F,
      -0.0910500363F, 0.0F,          0.0795802996F,   0.160930201F,  0.246112302F,  0.337915242F,
      0.440709829F,   0.562617004F,  0.722956836F,    1.0F};
  return is_normal ? kNormals : kFloats;
}

bool build_bnb4(const BodyContext& context, BodyText& body) {
  const int64_t rows = int_of(context, "N", 0);
  const int64_t inner = int_of(context, "K", 0);
  const int64_t block = int_of(context, "block_size", 0);
  const int64_t kind = int_of(context, "quant_type", -1);
  const int type = type_of(context, 0);
  if (type == 0) return body.refuse(kTypeUnknown);
  if (rows < 1 || inner < 1 || block < 1 || kind < 0 || kind > 1)
    return body.refuse("expected N, K and block_size of 1 or more, and quant_type 0 or 1");
  add_byte(body, "four", 4);
  add_byte(body, "sixteen", 16);
  body.numbers("meanings", meaning_of(kind == 1));
  body.ints("single", {-1, 1});
  body.ints("flat", {-1});
  body.ints("zero", {0});
  body.ints("count", {rows * inner});
  number_blocks(body, "blocks", "count", block);
  body.ints("matrix_shape", {rows, inner});
  body.add_lines(R"(
    first = BitShift<direction = "RIGHT">(B, four)
    second = Mod(B, sixteen)
    first_column = Reshape(first, single)
    second_column = Reshape(second, single)
    pairs = Concat<axis = 1>(first_column, second_column)
    all_codes = Reshape(pairs, flat)
    codes = Slice(all_codes, zero, count)
    indices = Cast<to = 7>(codes)
    parts = Gather(meanings, indices)
    wide_scales = Cast<to = 1>(absmax)
    flat_scales = Reshape(wide_scales, flat)
    factors = Gather(flat_scales, blocks)
    numbers = Mul(parts, factors)
    matrix = Reshape(numbers, matrix_shape))");
  const bool is_transposed = int_of(context, "transB", 1) != 0;
  if (is_transposed) body.add("transposed = Transpose<perm = [1, 0]>(matrix)");
  body.add("weights" + cast_to(type) + (is_transposed ? "transposed)" : "matrix)"));
  body.add("Y = MatMul(A, weights)");
  return true;
}

constexpr BodyRow kBlockRows[] = {
    {"GatherBlockQuantized", "data, indices, scales, zero_points?", "output", "2", build_gather},
    {"MatMulBnb4", "A, B, absmax", "Y", "0", build_bnb4},
};

// Element `i` of each byte, with an axis of extent 1; returns its name.
std::string add_part(BodyText& body, const std::string& to, const std::string& packed, int64_t i,
                     int64_t bits) {
  std::string part = to + "_part" + std::to_string(i);
  std::string bytes = packed;
  if (i > 0) {
    bytes = part + "_shifted";
    add_byte(body, part + "_bits", i * bits);
    body.add(bytes + " = BitShift<direction = \"RIGHT\">(" + packed + ", " + part + "_bits)");
  }
  body.add(part + "_code = Mod(" + bytes + ", " + to + "_limit)");
  body.add(part + " = Unsqueeze(" + part + "_code, " + to + "_last)");
  return part;
}

}  // namespace

void unpack_bits(BodyText& body, const std::string& to, const std::string& packed, int64_t bits) {
  if (bits == 8) {
    body.add(to + " = Cast<to = 1>(" + packed + ")");
    return;
  }
  const int64_t count = 8 / bits;
  add_byte(body, to + "_limit", int64_t{1} << bits);
  body.ints(to + "_last", {-1});
  std::string parts;
  for (int64_t i = 0; i < count; ++i) {
    const std::string part = add_part(body, to, packed, i, bits);
    parts.append(parts.empty() ? "" : ", ").append(part);
  }
  body.add(to + "_groups = Concat<axis = -1>(" + parts + ")");
  body.add(to + "_shape = Shape(" + packed + ")");
  body.ints(to + "_first", {0});
  body.add(to + "_lead = Slice(" + to + "_shape, " + to + "_first, " + to + "_last)");
  body.extent_of_last(to + "_bytes", packed);
  body.ints(to + "_count", {count});
  body.add(to + "_length = Mul(" + to + "_bytes, " + to + "_count)");
  body.add(to + "_target = Concat<axis = 0>(" + to + "_lead, " + to + "_length)");
  body.add(to + "_codes = Reshape(" + to + "_groups, " + to + "_target)");
  body.add(to + " = Cast<to = 1>(" + to + "_codes)");
}

std::vector<onnx::OpSchema> block_schemas() {
  std::vector<onnx::OpSchema> schemas;
  for (const BodyRow& row : kBlockRows) schemas.push_back(schema_of(row));
  return schemas;
}

}  // namespace gantry
