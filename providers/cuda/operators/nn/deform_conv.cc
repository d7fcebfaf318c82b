// SPDX-License-Identifier: Apache-2.0
// DeformConv: samples at the offset taps become columns, which are multiplied by the weights.
#include <algorithm>

#include "compile/kernel_texts.h"
#include "kernels/nn/deform.h"
#include "kernels/nn/epilogue.h"
#include "operators/linear_algebra/batched_matmul.h"
#include "operators/nn/window_shape.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

class DeformConv final : public Operation {
 public:
  explicit DeformConv(const NodeView& node)
      : window_(node),
        group_(node.get_int("group", 1)),
        offset_group_(node.get_int("offset_group", 1)) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const Extents& w = planner.shape(1);
    if (x.rank() < 3 || w.size() != x.shape.size() || w[0] % group_ != 0 ||
        w[1] * group_ != x.shape[1] || x.shape[1] % offset_group_ != 0) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "weights of the shape " + text_of(w) + " in " + std::to_string(group_) +
                           " groups, and " + std::to_string(offset_group_) +
                           " groups of offsets, do not fit data of " + text_of(x.shape));
    }
    DeformParameters p = {};
    p.window = window_.parameters(x.shape, Extents(w.begin() + 2, w.end()));
    window_.slide(p.window);
    p.window.result_channels = w[0];
    check_inputs(planner, p.window);
    const Extents shape = shape_of(p.window, x.shape.size());
    const Buffer y = planner.output(0, x.dtype, shape);
    if (count_of(shape) == 0) return;
    plan_images(planner, p, y);
    if (planner.has_input(3)) plan_bias(planner, shape, y);
  }

 private:
  static constexpr int64_t kMostColumnBytes = int64_t{256} << 20;
  static constexpr int64_t kThreadsEach = 2048;  // resident threads per multiprocessor
  static constexpr int64_t kMostChannels = 8;

  void check_inputs(const Planner& planner, const WindowParameters& window) const {
    const size_t rank = planner.shape(0).size();
    const int64_t taps = window.kernel[0] * window.kernel[1] * window.kernel[2];
    Extents expected = shape_of(window, rank);
    const auto check = [&](int slot) {
      if (!planner.has_input(slot) || planner.shape(slot) == expected) return;
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "input " + std::to_string(slot) + " has the shape " +
                           text_of(planner.shape(slot)) + ", expected " + text_of(expected));
    };
    expected[1] = offset_group_ * taps * static_cast<int64_t>(rank - 2);
    check(2);
    expected[1] = offset_group_ * taps;
    check(4);
    expected = {window.result_channels};
    check(3);
  }

  // As many images at once as the column buffer holds. With several groups there is no single batch
  // stride, so one at once.
  void plan_images(Planner& planner, DeformParameters& p, const Buffer& y) const {
    const WindowParameters& window = p.window;
    const int64_t bytes = bytes_of(planner.input(0).dtype);
    const int64_t taps = window.kernel[0] * window.kernel[1] * window.kernel[2];
    const int64_t positions = window.out[0] * window.out[1] * window.out[2];
    const int64_t column_bytes = std::max<int64_t>(1, window.channels * taps * positions * bytes);
    const int64_t at_once =
        group_ > 1 ? 1 : std::clamp<int64_t>(kMostColumnBytes / column_bytes, 1, window.batch);
    const Buffer columns = planner.scratch(static_cast<uint64_t>(at_once * column_bytes));
    const auto part = [bytes](int64_t image, int64_t elements) {
      return static_cast<uint64_t>(image * elements * bytes);
    };
    const auto axes = static_cast<int64_t>(planner.shape(0).size()) - 2;
    const int64_t plane = window.in[0] * window.in[1] * window.in[2];
    for (int64_t image = 0; image < window.batch; image += at_once) {
      const int64_t images = std::min<int64_t>(at_once, window.batch - image);
      Images now;
      now.count = images;
      now.source = Planner::in(0).at(part(image, window.channels * plane));
      now.offsets = Planner::in(2).at(part(image, offset_group_ * taps * axes * positions));
      now.mask = Planner::in(4).at(part(image, offset_group_ * taps * positions));
      plan_columns(planner, p, now, columns);
      BatchedMatmul matmul;
      matmul.dtype = planner.input(0).dtype;
      matmul.m = window.result_channels / group_;
      matmul.n = positions;
      matmul.k = window.channels / group_ * taps;
      // All images share the weights; each group has its own.
      matmul.batch = {images, group_};
      matmul.a_strides = {0, matmul.m * matmul.k};
      matmul.b_strides = {group_ * matmul.k * positions, matmul.k * positions};
      plan_batched_matmul(planner, matmul, Planner::in(1), columns,
                          y.at(part(image, window.result_channels * positions)));
    }
  }

  // A range of images with its operands.
  struct Images {
    int64_t count = 0;
    Buffer source, offsets, mask;
  };

  void plan_columns(Planner& planner, DeformParameters& p, const Images& images,
                    const Buffer& columns) const {
    WindowParameters& window = p.window;
    const uint32_t dtype = planner.input(0).dtype;
    const int64_t taps = window.kernel[0] * window.kernel[1] * window.kernel[2];
    const int64_t positions = window.out[0] * window.out[1] * window.out[2];
    p.group_channels = window.channels / offset_group_;
    const int64_t results = images.count * window.channels * taps * positions;
    if (results == 0) return;
    p.each = std::clamp<int64_t>(results / (kThreadsEach * planner.multiprocessors), 1,
                                 std::min<int64_t>(p.group_channels, kMostChannels));
    const int64_t parts = (p.group_channels + p.each - 1) / p.each;
    p.count = images.count * offset_group_ * parts * taps * positions;
    p.positions = divisor_of(positions);
    p.taps = divisor_of(taps);
    p.parts = divisor_of(parts);
    p.groups = divisor_of(offset_group_);
    check_positions(window);
    for (size_t axis = 0; axis < 3; ++axis) window.out_extents[axis] = divisor_of(window.out[axis]);
    const std::string body =
        std::string("\ntypedef ") + index_type(p.count < int64_t{1} << 31) + " Index;\ntypedef " +
        type_name(dtype) + " T;\ntypedef " + computed_name(dtype) + " C;\n#define AXES " +
        std::to_string(planner.shape(0).size() - 2) + "\n" + std::string(kernel_text("deform.cu"));
    std::vector<std::pair<const void* const*, Buffer>> addresses = {
        {&p.columns, columns}, {&p.source, images.source}, {&p.offsets, images.offsets}};
    if (planner.has_input(4)) addresses.emplace_back(&p.mask, images.mask);
    planner.launch(
        kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "window.h", "deform.h"}, body),
        blocks_for(planner, p.count), kThreads, p, addresses);
  }

  static void plan_bias(Planner& planner, const Extents& shape, const Buffer& y) {
    const uint32_t dtype = planner.input(0).dtype;
    EpilogueParameters p = {};
    p.count = count_of(shape);
    p.channels = divisor_of(shape[1]);
    p.inner = divisor_of(count_of(shape, 2, shape.size()));
    const std::string body = std::string("\ntypedef ") + index_type(p.count < int64_t{1} << 31) +
                             " Index;\ntypedef " + type_name(dtype) + " T;\ntypedef " +
                             computed_name(dtype) + " C;\n" +
                             std::string(kernel_text("epilogue.cu"));
    planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "epilogue.h"}, body),
                   blocks_for(planner, p.count), kThreads, p,
                   {{&p.result, y}, {&p.bias, Planner::in(3)}});
  }

  Window window_;
  int64_t group_;
  int64_t offset_group_;
};

std::string has_groups(const NodeView& node) {
  if (node.get_int("group", 1) < 1 || node.get_int("offset_group", 1) < 1)
    return "the number of groups is not positive";
  return node.input(0).rank() > 5 ? "more than three axes of a window are not supported" : "";
}

constexpr sdk::KernelRow kRows[] = {
    {"DeformConv", 19, sdk::kLatest, sdk::kFloats, make<DeformConv>, {}, has_groups},
};

}  // namespace

sdk::KernelTable deform_conv_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
