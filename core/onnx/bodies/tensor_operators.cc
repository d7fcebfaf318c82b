// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/tensor_operators.h"

#include <string>

#include "onnx/bodies/body_text.h"

namespace gantry {
namespace {

bool build_trilu(const BodyContext& context, BodyText& body) {
  constexpr int64_t kOpset = 14;
  if (onnx_opset_of(context) < kOpset) return body.refuse("expected opset 14 or newer");
  body.add("Y = Trilu(X, k)");
  body.copy_attributes(context, {"upper"});
  return true;
}

bool build_expand_dims(const BodyContext&, BodyText& body) {
  body.add("wide_axis = Cast<to = 7>(axis)");
  body.reshape("axes", "wide_axis", std::vector<int64_t>{-1});
  body.add("Y = Unsqueeze(X, axes)");
  return true;
}

bool build_pad(const BodyContext& context, BodyText& body) {
  body.reshape("all_pads", "pads", std::vector<int64_t>{-1});
  if (!context.hasInput(2)) {
    body.add("output = Pad(data, all_pads)");
  } else {
    body.add("no_axes = Constant<value_ints: ints = []>()");
    body.add("number = Reshape(value, no_axes)");
    body.add("output = Pad(data, all_pads, number)");
  }
  body.copy_attributes(context, {"mode"});
  return true;
}

bool build_range(const BodyContext& context, BodyText& body) {
  const int type = type_of(context, 0);
  if (type == 0) return body.refuse(kTypeUnknown);
  body.add("no_axes = Constant<value_ints: ints = []>()");
  body.add("first = Reshape(start, no_axes)");
  body.add("last = Reshape(limit, no_axes)");
  if (context.hasInput(2)) {
    body.add("step = Reshape(delta, no_axes)");
  } else {
    body.number("one", int64_t{1});
    body.add("step" + cast_to(type) + "one)");
  }
  body.add("Y = Range(first, last, step)");
  return true;
}

bool build_unique(const BodyContext&, BodyText& body) {
  body.add("y, firsts, idx, counts = Unique<sorted = 0>(x)");
  return true;
}

bool build_gather_nd(const BodyContext&, BodyText& body) {
  body.add("wide_indices = Cast<to = 7>(indices)");
  body.add("output = GatherND(data, wide_indices)");
  return true;
}

bool build_grid_sample(const BodyContext& context, BodyText& body) {
  constexpr int64_t kOpset = 16;
  constexpr int64_t kOpsetOfNewNames = 20;
  if (onnx_opset_of(context) < kOpset) return body.refuse("expected opset 16 or newer");
  const onnx::AttributeProto* given = context.getAttribute("mode");
  std::string mode = given ? given->s() : "bilinear";
  if (onnx_opset_of(context) >= kOpsetOfNewNames && mode != "nearest")
    mode = mode == "bicubic" ? "cubic" : "linear";
  body.add("Y = GridSample<mode = \"" + mode + "\">(X, Grid)");
  body.copy_attributes(context, {"align_corners", "padding_mode"});
  return true;
}

// UnfoldTensor: windows of `size` elements along an axis, one every `step`; their elements are the
// last axis.
bool build_unfold(const BodyContext& context, BodyText& body) {
  const int rank = rank_of(context, 0);
  const int64_t axis = int_of(context, "dim", -1) + (int_of(context, "dim", -1) < 0 ? rank : 0);
  const int64_t size = int_of(context, "size", 0);
  const int64_t step = int_of(context, "step", 1);
  if (rank < 1) return body.refuse(kRankUnknown);
  if (axis < 0 || axis >= rank || size < 1 || step < 1)
    return body.refuse("expected dim to be an axis, and size and step of 1 or more");
  const int64_t known = extent_of(context, 0, static_cast<int>(axis));
  if (known >= 0 && known < size) {
    return body.refuse("size: expected at most the axis's " + std::to_string(known) + ", found " +
                       std::to_string(size));
  }
  body.ints("size", {size});
  body.ints("step", {step});
  body.ints("one", {1});
  body.extent("length", "input", axis);
  body.add("room = Sub(length, size)");
  body.add("steps = Div(room, step)");
  body.add("windows = Add(steps, one)");
  body.count("window_numbers", "windows");
  body.add("window_starts = Mul(window_numbers, step)");
  body.unsqueeze("starts", "window_starts", {1});
  body.count("offsets", "size");
  body.add("indices = Add(starts, offsets)");
  body.add("parts = Gather<axis = " + std::to_string(axis) + ">(input, indices)");
  std::string order;
  for (int i = 0; i <= rank; ++i) {
    if (i != axis + 1) order += std::to_string(i) + ", ";
  }
  body.add("output = Transpose<perm = [" + order + std::to_string(axis + 1) + "]>(parts)");
  return true;
}

// CDist: squared distances by a MatMul of the rows, as ONNX Runtime computes them.
bool build_distances(const BodyContext& context, BodyText& body) {
  const onnx::AttributeProto* given = context.getAttribute("metric");
  const std::string metric = given ? given->s() : "sqeuclidean";
  const int type = type_of(context, 0);
  if (type == 0) return body.refuse(kTypeUnknown);
  if (metric != "sqeuclidean" && metric != "euclidean")
    return body.refuse("metric: expected sqeuclidean or euclidean, found \"" + metric + "\"");
  body.ints("last_axis", {1});
  body.number("zero_float", 0.0F);
  body.add("zero" + cast_to(type) + "zero_float)");
  body.add_lines(R"(
    a_squares = Mul(A, A)
    a_sums = ReduceSum<keepdims = 1>(a_squares, last_axis)
    b_squares = Mul(B, B)
    b_sums = ReduceSum<keepdims = 0>(b_squares, last_axis)
    products = Gemm<alpha = -2.0, transB = 1>(A, B, a_sums)
    sums = Add(products, b_sums)
    squares = Max(sums, zero))");
  body.add(metric == "euclidean" ? "C = Sqrt(squares)" : "C = Identity(squares)");
  return true;
}

bool build_product_of_shorts(const BodyContext&, BodyText& body) {
  body.add_lines(R"(
    a = Cast<to = 6>(A)
    b = Cast<to = 6>(B)
    Y = MatMul(a, b))");
  return true;
}

bool build_sample(const BodyContext&, BodyText& body) {
  body.add("Y = Identity(X)");
  return true;
}

// ConvTransposeWithDynamicPads: the result without pads, sliced by the pads, which are known in a
// run only.
bool build_conv_transpose(const BodyContext& context, BodyText& body) {
  const int rank = rank_of(context, 0);
  const bool has_pads = context.hasInput(2);
  const onnx::AttributeProto* given = context.getAttribute("auto_pad");
  if (given && given->s() != "NOTSET")
    return body.refuse("auto_pad: expected NOTSET, found \"" + given->s() + "\"");
  if (has_pads && rank < 3) return body.refuse("X: expected a known rank of 3 or more");
  body.add(std::string(has_pads ? "whole" : "Y") + " = ConvTranspose(X, W, B)");
  body.copy_attributes(context,
                       {"dilations", "group", "kernel_shape", "output_padding", "strides"});
  if (!has_pads) return true;
  std::vector<int64_t> axes;
  for (int axis = 2; axis < rank; ++axis) axes.push_back(axis);
  body.ints("axes", axes);
  body.ints("zero", {0});
  body.ints("middle", {rank - 2});
  body.ints("end", {2 * (rank - 2)});
  body.ints("batch_and_channel", {2});
  body.ints("rank", {rank});
  body.add_lines(R"(
    begins = Slice(Pads, zero, middle)
    taken = Slice(Pads, middle, end)
    shape = Shape(whole)
    extents = Slice(shape, batch_and_channel, rank)
    ends = Sub(extents, taken)
    Y = Slice(whole, begins, ends, axes))");
  return true;
}

constexpr BodyRow kTensorRows[] = {
    // Without a body: only providers run these.
    {"BifurcationDetector", "src_tokens, cur_tokens, prev_suffix_match_idx, pred_tokens?",
     "tokens, suffix_match_idx", "ll", nullptr},
    {"CropAndResize", "X, rois, batch_indices, crop_size", "Y", "0", nullptr},
    {"DynamicTimeWarping", "input", "output", "i", nullptr},
    {"Inverse", "X", "Y", "0", nullptr},
    {"MurmurHash3", "X", "Y", "h", nullptr},
    {"NGramRepeatBlock", "input_ids, scores", "scores_out", "1", nullptr},
    {"Tokenizer", "X", "Y", "0", nullptr},
    // With a body.
    {"Trilu", "X, k?", "Y", "0", build_trilu},
    {"ExpandDims", "X, axis", "Y", "0", build_expand_dims},
    {"Pad", "data, pads, value?", "output", "0", build_pad},
    {"Range", "start, limit, delta?", "Y", "0", build_range},
    {"Unique", "x", "y, idx, counts", "0ll", build_unique},
    {"GatherND", "data, indices", "output", "0", build_gather_nd},
    {"GridSample", "X, Grid", "Y", "0", build_grid_sample},
    {"UnfoldTensor", "input", "output", "0", build_unfold},
    {"CDist", "A, B", "C", "0", build_distances},
    {"MatMulInteger16", "A, B", "Y", "i", build_product_of_shorts},
    {"SampleOp", "X", "Y", "0", build_sample},
    {"ConvTransposeWithDynamicPads", "X, W, Pads?, B?", "Y", "0", build_conv_transpose},
};

}  // namespace

std::vector<onnx::OpSchema> tensor_schemas() {
  std::vector<onnx::OpSchema> schemas;
  for (const BodyRow& row : kTensorRows) schemas.push_back(schema_of(row));
  return schemas;
}

}  // namespace gantry
