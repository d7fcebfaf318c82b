// SPDX-License-Identifier: Apache-2.0
// Col2Im and MaxUnpool: scatter windows into an image.
#include "kernels/nn/unpool.h"

#include <algorithm>

#include "compile/kernel_texts.h"
#include "operators/nn/window_shape.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

constexpr int kMostWindowAxes = 3;

class Col2Im final : public Operation {
 public:
  explicit Col2Im(const NodeView& node) : window_(node) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const Extents image = planner.host_integers(1);
    const Extents block = planner.host_integers(2);
    if (x.rank() != 3 || image.empty() || image.size() != block.size()) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "columns of the shape " + text_of(x.shape) +
                                                    " with blocks " + text_of(block) +
                                                    " make no image " + text_of(image));
    }
    const int64_t taps = count_of(block);
    const int64_t channels = taps > 0 ? x.shape[1] / taps : 0;
    Extents shape = {x.shape[0], channels};
    shape.insert(shape.end(), image.begin(), image.end());
    WindowParameters p = window_.parameters(shape, block);
    window_.slide(p);
    if (taps < 1 || x.shape[1] != channels * taps || x.shape[2] != p.out[0] * p.out[1] * p.out[2]) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "columns of the shape " + text_of(x.shape) + " do not fit blocks " +
                           text_of(block) + ", of which the image " + text_of(image) + " has " +
                           std::to_string(p.out[0] * p.out[1] * p.out[2]));
    }
    // One thread per element of the image, which adds the windows that cover it.
    std::swap_ranges(std::begin(p.in), std::end(p.in), std::begin(p.out));
    p.result_channels = channels;
    p.count = count_of(shape);
    const Buffer y = planner.output(0, x.dtype, shape);
    launch_window(planner, p, "window_columns.cu", "IS_TRANSPOSED true", x.dtype,
                  {{&p.result, y}, {&p.source, Planner::in(0)}});
  }

 private:
  Window window_;
};

class MaxUnpool final : public Operation {
 public:
  explicit MaxUnpool(const NodeView& node)
      : kernel_(node.get_ints("kernel_shape")),
        strides_(node.get_ints("strides")),
        pads_(node.get_ints("pads")) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const Extents pooled = pooled_shape(x.shape);
    const Extents shape = planner.has_input(2) ? planner.host_integers(2) : pooled;
    if (planner.shape(1) != x.shape || shape.size() != pooled.size()) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "elements of the shape " + text_of(x.shape) + " with indices of the shape " +
                           text_of(planner.shape(1)) + " do not make the shape " + text_of(shape));
    }
    const Buffer y = planner.output(0, x.dtype, shape);
    planner.fill(y, static_cast<uint64_t>(count_of(shape) * bytes_of(x.dtype)), 0);
    UnpoolParameters p = {};
    p.count = x.element_count();
    p.position_count = count_of(pooled);
    std::copy(pooled.begin(), pooled.end(), p.pooled);
    std::copy(shape.begin(), shape.end(), p.extents);
    const std::string body = std::string("\ntypedef ") + index_type(p.count < int64_t{1} << 31) +
                             " Index;\ntypedef " + word_name(bytes_of(x.dtype)) +
                             " Word;\n#define RANK " + std::to_string(shape.size()) +
                             "\n#define IS_EXTENDED " + (shape == pooled ? "0" : "1") + "\n" +
                             std::string(kernel_text("unpool.cu"));
    planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "unpool.h"}, body),
                   blocks_for(planner, p.count), kThreads, p,
                   {{&p.result, y},
                    {&p.source, Planner::in(0)},
                    {reinterpret_cast<const void* const*>(&p.positions), Planner::in(1)}});
  }

 private:
  // Spatial extents before pooling, inferred from the attributes.
  [[nodiscard]] Extents pooled_shape(const Extents& x) const {
    const size_t axes = kernel_.size();
    if (x.size() != axes + 2 || x.size() > MOST_AXES) {
      throw sdk::Error(
          GANTRY_INVALID_ARGUMENT,
          "the shape " + text_of(x) + " has not the axes of the window " + text_of(kernel_));
    }
    Extents shape = x;
    for (size_t i = 0; i < axes; ++i) {
      const int64_t stride = strides_.empty() ? 1 : strides_.at(i);
      const int64_t pads = pads_.empty() ? 0 : pads_.at(i) + pads_.at(axes + i);
      shape[2 + i] = (x[2 + i] - 1) * stride + kernel_[i] - pads;
      if (shape[2 + i] < 0) {
        throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                         "the pads leave nothing of axis " + std::to_string(2 + i));
      }
    }
    return shape;
  }

  Extents kernel_;
  Extents strides_;
  Extents pads_;
};

std::string has_window_axes(const NodeView& node) {
  const sdk::ValueView image = node.input(1);
  return image.rank() == 1 && image.extent(0) > kMostWindowAxes
             ? "images of more than three axes are not supported"
             : "";
}

std::string has_few_axes(const NodeView& node) {
  return node.get_ints("kernel_shape").size() + 2 > MOST_AXES ? "it has too many axes" : "";
}

constexpr sdk::KernelRow kRows[] = {
    {"Col2Im", 18, sdk::kLatest, kComputed, make<Col2Im, 6>, host_marks(6), has_window_axes},
    {"MaxUnpool", 9, sdk::kLatest, sdk::kFloats, make<MaxUnpool, 4>, host_marks(4), has_few_axes},
};

}  // namespace

sdk::KernelTable unpool_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
