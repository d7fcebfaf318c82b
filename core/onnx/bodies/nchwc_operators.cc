// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/nchwc_operators.h"

#include <string>

#include "onnx/bodies/body_text.h"

namespace gantry {
namespace {

constexpr int kImageRank = 4;

/// Channels of a block. The file does not say: like ONNX Runtime, whoever loads it takes what its
/// own CPU has, and the file is right where it is that of the CPU that wrote it.
int64_t block_of_this_cpu() {
#if defined(__x86_64__)
  static const bool has_wide_vectors = __builtin_cpu_supports("avx512f") != 0;
  return has_wide_vectors ? 16 : 8;
#else
  return 16;
#endif
}

/// Weights in the standard's order, "weights": from [O / block, I / block, H, W, block of I, block
/// of O] or, where a filter has no whole block of inputs, from [O / block, I, H, W, block of O].
/// False: their extents are not known, or of other blocks.
bool unpack_weights(const BodyContext& context, BodyText& body) {
  const int64_t block = block_of_this_cpu();
  const int64_t outputs = extent_of(context, 1, 0);
  const int64_t inputs = extent_of(context, 1, 1);
  const int64_t height = extent_of(context, 1, 2);
  const int64_t width = extent_of(context, 1, 3);
  const bool is_known = rank_of(context, 1) == kImageRank && outputs > 0 && inputs > 0 &&
                        height > 0 && width > 0;
  if (!is_known || outputs % block != 0) return false;
  if (inputs < block) {
    body.reshape("blocks", "W", std::vector<int64_t>{outputs / block, inputs, height, width, block});
    body.add("ordered = Transpose<perm = [0, 4, 1, 2, 3]>(blocks)");
  } else {
    if (inputs % block != 0) return false;
    body.reshape("blocks", "W",
                 std::vector<int64_t>{outputs / block, inputs / block, height, width, block, block});
    body.add("ordered = Transpose<perm = [0, 5, 1, 4, 2, 3]>(blocks)");
  }
  body.reshape("weights", "ordered", std::vector<int64_t>{outputs, inputs, height, width});
  return true;
}

bool build_conv(const BodyContext& context, BodyText& body) {
  if (!unpack_weights(context, body)) return false;
  body.add("Y = com.microsoft.FusedConv(X, weights, B, Sum)");
  body.copy_attributes(context, {"activation", "activation_params", "auto_pad", "dilations", "group",
                                 "kernel_shape", "pads", "strides"});
  return true;
}

bool build_max_pool(const BodyContext& context, BodyText& body) {
  body.add("Y = MaxPool(X)");
  body.copy_attributes(context,
                       {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"});
  return true;
}

bool build_average_pool(const BodyContext& context, BodyText& body) {
  body.add("Y = AveragePool(X)");
  body.copy_attributes(context, {"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape",
                                 "pads", "strides"});
  return true;
}

bool build_global_max_pool(const BodyContext&, BodyText& body) {
  body.add("Y = GlobalMaxPool(X)");
  return true;
}

bool build_global_average_pool(const BodyContext&, BodyText& body) {
  body.add("Y = GlobalAveragePool(X)");
  return true;
}

bool build_reorder_input(const BodyContext& context, BodyText& body) {
  const bool is_channels_last = int_of(context, "channels_last", 0) != 0;
  const int64_t block = block_of_this_cpu();
  const int64_t channels = extent_of(context, 0, is_channels_last ? kImageRank - 1 : 1);
  if (channels < 1 || rank_of(context, 0) != kImageRank) return false;
  body.add(is_channels_last ? "ordered = Transpose<perm = [0, 3, 1, 2]>(X)"
                            : "ordered = Identity(X)");
  const int64_t missing = (channels + block - 1) / block * block - channels;
  body.ints("pads", {0, 0, 0, 0, 0, missing, 0, 0});
  body.add(missing > 0 ? "Y = Pad(ordered, pads)" : "Y = Identity(ordered)");
  return true;
}

bool build_reorder_output(const BodyContext& context, BodyText& body) {
  const int64_t channels = int_of(context, "channels", 0);
  if (channels < 1) return false;
  body.ints("begin", {0});
  body.ints("end", {channels});
  body.slice("channels", "X", "begin", "end", 1);
  body.add(int_of(context, "channels_last", 0) != 0
               ? "Y = Transpose<perm = [0, 2, 3, 1]>(channels)"
               : "Y = Identity(channels)");
  return true;
}

bool build_upsample(const BodyContext& context, BodyText& body) {
  const onnx::AttributeProto* factors = context.getAttribute("scales");
  if (!factors) return false;
  body.numbers("factors", {factors->ints().begin(), factors->ints().end()});
  body.add("Y = Resize<nearest_mode = \"floor\">(X, , factors)");
  body.copy_attributes(context, {"coordinate_transformation_mode", "mode"});
  return true;
}

constexpr BodyRow kRows[] = {
    {"Conv", "X, W, B?, Sum?", "Y", "0", build_conv},
    {"MaxPool", "X", "Y", "0", build_max_pool},
    {"AveragePool", "X", "Y", "0", build_average_pool},
    {"GlobalMaxPool", "X", "Y", "0", build_global_max_pool},
    {"GlobalAveragePool", "X", "Y", "0", build_global_average_pool},
    {"ReorderInput", "X", "Y", "0", build_reorder_input},
    {"ReorderOutput", "X", "Y", "0", build_reorder_output},
    {"Upsample", "X", "Y", "0", build_upsample},
};

}  // namespace

std::vector<onnx::OpSchema> nchwc_schemas() {
  std::vector<onnx::OpSchema> schemas;
  for (const BodyRow& row : kRows) schemas.push_back(schema_of(row, kNchwcDomain));
  return schemas;
}

}  // namespace gantry
