// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/nchwc_operators.h"

#include <algorithm>
#include <cstdint>
#include <onnx/defs/shape_inference.h>
#include <string>

#include "onnx/bodies/body_text.h"

namespace gantry {
namespace {

constexpr int kImageRank = 4;

/// Channels of a block. The file does not have this number. Like ONNX Runtime, this uses that of
/// the CPU that loads the model, which must be that of the CPU that saved it.
int64_t block_of_this_cpu() {
#if defined(__x86_64__)
  static const bool has_wide_vectors = __builtin_cpu_supports("avx512f") != 0;
  return has_wide_vectors ? 16 : 8;
#else
  return 16;
#endif
}

/// Unpacks weights to "weights", [O, I, H, W]: from [O / block, I / block, H, W, block of I, block
/// of O] or, if there is no whole block of input channels, from [O / block, I, H, W, block of O].
/// False: the extents are unknown, or of another block size.
bool unpack_weights(const BodyContext& context, BodyText& body) {
  const int64_t block = block_of_this_cpu();
  const int64_t outputs = extent_of(context, 1, 0);
  const int64_t inputs = extent_of(context, 1, 1);
  const int64_t height = extent_of(context, 1, 2);
  const int64_t width = extent_of(context, 1, 3);
  const bool is_known =
      rank_of(context, 1) == kImageRank && outputs > 0 && inputs > 0 && height > 0 && width > 0;
  const std::string expected = "W: expected four known extents, of channels in blocks of " +
                               std::to_string(block) + " as ONNX Runtime writes them for this CPU";
  if (!is_known || outputs % block != 0) return body.refuse(expected);
  if (inputs < block) {
    body.reshape("blocks", "W",
                 std::vector<int64_t>{outputs / block, inputs, height, width, block});
    body.add("ordered = Transpose<perm = [0, 4, 1, 2, 3]>(blocks)");
  } else {
    if (inputs % block != 0) return body.refuse(expected);
    body.reshape(
        "blocks", "W",
        std::vector<int64_t>{outputs / block, inputs / block, height, width, block, block});
    body.add("ordered = Transpose<perm = [0, 5, 1, 4, 2, 3]>(blocks)");
  }
  body.reshape("weights", "ordered", std::vector<int64_t>{outputs, inputs, height, width});
  return true;
}

bool build_nchwc_conv(const BodyContext& context, BodyText& body) {
  if (!unpack_weights(context, body)) return false;
  body.add("Y = com.microsoft.FusedConv(X, weights, B, Sum)");
  body.copy_attributes(context, {"activation", "activation_params", "auto_pad", "dilations",
                                 "group", "kernel_shape", "pads", "strides"});
  return true;
}

/// Copies pool attributes that older opsets of ai.onnx lack, unless they have the default value:
/// ONNX Runtime writes them whatever the opset.
void copy_newer_attributes(const BodyContext& context, BodyText& body) {
  for (const char* name : {"ceil_mode", "count_include_pad"}) {
    if (int_of(context, name, 0) != 0) body.copy_attributes(context, {name});
  }
  const onnx::AttributeProto* dilations = context.getAttribute("dilations");
  if (!dilations) return;
  const auto& steps = dilations->ints();
  if (std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != 1; }))
    body.copy_attributes(context, {"dilations"});
}

/// `op_type`: "MaxPool" or "AveragePool".
bool build_pool(const BodyContext& context, BodyText& body, const std::string& op_type) {
  body.add("Y = " + op_type + "(X)");
  body.copy_attributes(context, {"auto_pad", "kernel_shape", "pads", "strides"});
  copy_newer_attributes(context, body);
  return true;
}

bool build_max_pool(const BodyContext& context, BodyText& body) {
  return build_pool(context, body, "MaxPool");
}

bool build_average_pool(const BodyContext& context, BodyText& body) {
  return build_pool(context, body, "AveragePool");
}

bool build_global_max_pool(const BodyContext&, BodyText& body) {
  body.add("Y = GlobalMaxPool(X)");
  return true;
}

bool build_global_average_pool(const BodyContext&, BodyText& body) {
  body.add("Y = GlobalAveragePool(X)");
  return true;
}

/// "Y": "ordered" padded to whole blocks of channels, whose number is known in a run only.
void fill_up_in_runs(BodyText& body) {
  body.add("shape = Shape(ordered)");
  body.ints("channel_axis", {1});
  body.ints("behind_channels", {2});
  body.ints("block", {block_of_this_cpu()});
  body.ints("before", {0, 0, 0, 0, 0});
  body.ints("behind", {0, 0});
  body.add(R"(
    channels = Slice(shape, channel_axis, behind_channels)
    negative = Neg(channels)
    missing = Mod(negative, block)
    pads = Concat<axis = 0>(before, missing, behind)
    Y = Pad(ordered, pads))");
}

bool build_reorder_input(const BodyContext& context, BodyText& body) {
  constexpr int64_t kOpsetOfInputs = 11;  // before it Pad has its pads as an attribute
  const bool is_channels_last = int_of(context, "channels_last", 0) != 0;
  const int64_t block = block_of_this_cpu();
  const int64_t channels = extent_of(context, 0, is_channels_last ? kImageRank - 1 : 1);
  const int64_t rank = rank_of(context, 0);
  if (rank >= 0 && rank != kImageRank)
    return body.refuse("X: expected rank 4, found " + std::to_string(rank));
  body.add(is_channels_last ? "ordered = Transpose<perm = [0, 3, 1, 2]>(X)"
                            : "ordered = Identity(X)");
  if (channels < 1) {
    if (onnx_opset_of(context) < kOpsetOfInputs) {
      return body.refuse(
          "the number of channels is not known before the run, in opset 10 or older");
    }
    fill_up_in_runs(body);
    return true;
  }
  const int64_t missing = (channels + block - 1) / block * block - channels;
  if (missing == 0) {
    body.add("Y = Identity(ordered)");
    return true;
  }
  if (onnx_opset_of(context) < kOpsetOfInputs) {
    body.add("Y = Pad<pads = [0, 0, 0, 0, 0, " + std::to_string(missing) + ", 0, 0]>(ordered)");
    return true;
  }
  body.ints("pads", {0, 0, 0, 0, 0, missing, 0, 0});
  body.add("Y = Pad(ordered, pads)");
  return true;
}

bool build_reorder_output(const BodyContext& context, BodyText& body) {
  const int64_t channels = int_of(context, "channels", 0);
  if (channels < 1) return body.refuse("expected an attribute channels of 1 or more");
  constexpr int64_t kOpsetOfInputs = 10;
  if (extent_of(context, 0, 1) == channels) {
    body.add("channels = Identity(X)");
  } else if (onnx_opset_of(context) < kOpsetOfInputs) {
    body.add("channels = Slice<axes = [1], starts = [0], ends = [" + std::to_string(channels) +
             "]>(X)");
  } else {
    body.ints("begin", {0});
    body.ints("end", {channels});
    body.slice("channels", "X", "begin", "end", 1);
  }
  body.add(int_of(context, "channels_last", 0) != 0 ? "Y = Transpose<perm = [0, 2, 3, 1]>(channels)"
                                                    : "Y = Identity(channels)");
  return true;
}

bool build_upsample(const BodyContext& context, BodyText& body) {
  constexpr int64_t kOpsetOfModes = 11;
  constexpr int64_t kOpsetOfResize = 10;
  constexpr int64_t kOpsetOfUpsample = 9;
  const onnx::AttributeProto* factors = context.getAttribute("scales");
  const int64_t opset = onnx_opset_of(context);
  if (!factors || opset < kOpsetOfUpsample)
    return body.refuse("expected an attribute scales, and opset 9 or newer");
  body.numbers("factors", {factors->ints().begin(), factors->ints().end()});
  if (opset < kOpsetOfModes) {
    body.add(opset < kOpsetOfResize ? "Y = Upsample(X, factors)" : "Y = Resize(X, factors)");
    body.copy_attributes(context, {"mode"});
    return true;
  }
  body.add("Y = Resize<nearest_mode = \"floor\">(X, , factors)");
  body.copy_attributes(context, {"coordinate_transformation_mode", "mode"});
  return true;
}

/// Inference rule for the channels of a result before its body is inlined.
enum class Channels : uint8_t { kOfSource, kOfWeights, kFilledUp, kOfAttribute };

struct Row {
  BodyRow body;
  Channels channels;
};

constexpr Row kRows[] = {
    {{"Conv", "X, W, B?, Sum?", "Y", "0", build_nchwc_conv}, Channels::kOfWeights},
    {{"MaxPool", "X", "Y", "0", build_max_pool}, Channels::kOfSource},
    {{"AveragePool", "X", "Y", "0", build_average_pool}, Channels::kOfSource},
    {{"GlobalMaxPool", "X", "Y", "0", build_global_max_pool}, Channels::kOfSource},
    {{"GlobalAveragePool", "X", "Y", "0", build_global_average_pool}, Channels::kOfSource},
    {{"ReorderInput", "X", "Y", "0", build_reorder_input}, Channels::kFilledUp},
    {{"ReorderOutput", "X", "Y", "0", build_reorder_output}, Channels::kOfAttribute},
    {{"Upsample", "X", "Y", "0", build_upsample}, Channels::kOfSource},
};

int64_t attribute_of(const onnx::InferenceContext& context, const char* name) {
  const onnx::AttributeProto* given = context.getAttribute(name);
  return given ? given->i() : 0;
}

/// An extent of an input; -1: unknown.
int64_t inferred_extent(const onnx::InferenceContext& context, size_t input, int axis) {
  if (!onnx::hasInputShape(context, input)) return -1;
  const onnx::TensorShapeProto& shape = onnx::getInputShape(context, input);
  if (shape.dim_size() != kImageRank || !shape.dim(axis).has_dim_value()) return -1;
  return shape.dim(axis).dim_value();
}

/// Infers type, rank and channels, which bodies of readers need.
void infer(onnx::InferenceContext& context, Channels rule) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  const bool is_channels_last = attribute_of(context, "channels_last") != 0;
  const bool is_source_last = is_channels_last && rule == Channels::kFilledUp;
  const int64_t given = inferred_extent(context, 0, is_source_last ? kImageRank - 1 : 1);
  const int64_t block = block_of_this_cpu();
  int64_t channels = given;
  if (rule == Channels::kOfWeights) channels = inferred_extent(context, 1, 0);
  if (rule == Channels::kFilledUp && given > 0) channels = (given + block - 1) / block * block;
  if (rule == Channels::kOfAttribute) channels = attribute_of(context, "channels");
  onnx::TensorShapeProto shape;
  for (int axis = 0; axis < kImageRank; ++axis) shape.add_dim();
  if (onnx::hasInputShape(context, 0) && onnx::getInputShape(context, 0).dim_size() == kImageRank)
    *shape.mutable_dim(0) = onnx::getInputShape(context, 0).dim(0);
  const bool is_result_last = is_channels_last && rule == Channels::kOfAttribute;
  if (channels > 0) shape.mutable_dim(is_result_last ? kImageRank - 1 : 1)->set_dim_value(channels);
  onnx::updateOutputShape(context, 0, shape);
}

}  // namespace

std::vector<onnx::OpSchema> nchwc_schemas() {
  std::vector<onnx::OpSchema> schemas;
  for (const Row& row : kRows) {
    schemas.push_back(schema_of(row.body, kNchwcDomain));
    schemas.back().TypeAndShapeInferenceFunction(
        [rule = row.channels](onnx::InferenceContext& context) { infer(context, rule); });
  }
  return schemas;
}

}  // namespace gantry
