// SPDX-License-Identifier: Apache-2.0
// Operators with windows, by the provider's own kernels: Conv, ConvTranspose, MaxPool, AveragePool,
// LpPool.
#include "../kernels/window.h"

#include <algorithm>

#include "../kernel_texts.h"
#include "operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

// Of the kernel that multiplies tiles.
constexpr int64_t kTile = 64;
constexpr int64_t kLeastChannels = 8;
constexpr int64_t kMostPlaces = int64_t{1} << 30;

// The attributes that all of them have.
class Window {
 public:
  explicit Window(const NodeView& node)
      : kernel_(node.get_ints("kernel_shape")),
        strides_(node.get_ints("strides")),
        dilations_(node.get_ints("dilations")),
        pads_(node.get_ints("pads")),
        auto_pad_(node.get_string("auto_pad", "NOTSET")),
        rounds_up_(node.get_int("ceil_mode", 0) != 0) {}

  // Of the source alone: result_channels, out and count are the caller's.
  [[nodiscard]] WindowParameters parameters(const Extents& x, Extents kernel) const {
    if (kernel.empty()) kernel = kernel_;
    const size_t spatial = x.size() - 2;
    if (x.size() < 3 || spatial > 3 || kernel.size() != spatial) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the shape " + text_of(x) +
                                                    " has not one to three axes like the window " +
                                                    text_of(kernel));
    }
    WindowParameters p = {};
    p.batch = x[0];
    p.channels = x[1];
    p.group = 1;
    for (size_t axis = 0; axis < 3; ++axis)
      p.in[axis] = p.out[axis] = p.kernel[axis] = p.stride[axis] = p.dilation[axis] = 1;
    for (size_t i = 0; i < spatial; ++i) {
      const size_t axis = 3 - spatial + i;
      p.in[axis] = x[2 + i];
      p.kernel[axis] = kernel[i];
      p.stride[axis] = strides_.empty() ? 1 : strides_.at(i);
      p.dilation[axis] = dilations_.empty() ? 1 : dilations_.at(i);
      if (auto_pad_ == "NOTSET" && !pads_.empty()) {
        p.begin[axis] = pads_.at(i);
        p.end[axis] = pads_.at(spatial + i);
      }
    }
    return p;
  }

  // Extents of the result of a window that goes over the source.
  void slide(WindowParameters& p) const {
    for (size_t axis = 0; axis < 3; ++axis) {
      const int64_t reach = p.dilation[axis] * (p.kernel[axis] - 1) + 1;
      if (auto_pad_ == "SAME_UPPER" || auto_pad_ == "SAME_LOWER") {
        p.out[axis] = (p.in[axis] + p.stride[axis] - 1) / p.stride[axis];
        const int64_t missing =
            std::max<int64_t>(0, (p.out[axis] - 1) * p.stride[axis] + reach - p.in[axis]);
        p.begin[axis] = auto_pad_ == "SAME_UPPER" ? missing / 2 : missing - missing / 2;
        p.end[axis] = missing - p.begin[axis];
        continue;
      }
      const int64_t room = p.in[axis] + p.begin[axis] + p.end[axis] - reach;
      if (room < 0) {
        p.out[axis] = 0;
        continue;
      }
      p.out[axis] =
          (rounds_up_ ? (room + p.stride[axis] - 1) / p.stride[axis] : room / p.stride[axis]) + 1;
      // The last window begins in the source or its padding before, not behind.
      if (rounds_up_ && (p.out[axis] - 1) * p.stride[axis] >= p.in[axis] + p.begin[axis])
        --p.out[axis];
    }
  }

  [[nodiscard]] const std::string& auto_pad() const { return auto_pad_; }

 private:
  Extents kernel_;
  Extents strides_;
  Extents dilations_;
  Extents pads_;
  std::string auto_pad_;
  bool rounds_up_;
};

Extents shape_of(const WindowParameters& p, size_t rank) {
  Extents shape = {p.batch, p.result_channels};
  shape.insert(shape.end(), p.out + 3 - (rank - 2), p.out + 3);
  return shape;
}

std::string source_of(const std::string& which, uint32_t dtype) {
  return kernel_source({"window.h"}, "\ntypedef " + type_name(dtype) + " T;\ntypedef " +
                                         computed_name(dtype) + " C;\n#define " + which + "\n" +
                                         std::string(kernel_text("window.cu")));
}

class Pool final : public Operation {
 public:
  explicit Pool(const NodeView& node)
      : which_(node.op_type() == "MaxPool"       ? "MAX_POOL"
               : node.op_type() == "AveragePool" ? "AVERAGE_POOL"
                                                 : "LP_POOL"),
        window_(node),
        counts_padding_(node.get_int("count_include_pad", 0) != 0),
        is_column_major_(node.get_int("storage_order", 0) != 0),
        order_(node.get_int("p", 2)) {}
  void plan(Planner& planner) const override {
    const InputFacts& x = planner.input(0);
    WindowParameters parameters = window_.parameters(x.shape, {});
    window_.slide(parameters);
    parameters.result_channels = parameters.channels;
    parameters.counts_padding = counts_padding_ ? 1 : 0;
    parameters.is_column_major = is_column_major_ ? 1 : 0;
    parameters.order = order_;
    const Extents shape = shape_of(parameters, x.shape.size());
    parameters.count = count_of(shape);
    std::vector<std::pair<const void* const*, Buffer>> addresses = {
        {&parameters.source, Planner::in(0)}};
    if (planner.wants(0))
      addresses.emplace_back(&parameters.result, planner.output(0, x.dtype, shape));
    if (planner.wants(1)) {
      addresses.emplace_back(reinterpret_cast<const void* const*>(&parameters.indices),
                             planner.output(1, GANTRY_INT64, shape));
    }
    planner.launch(source_of(which_, x.dtype), blocks_for(planner, parameters.count), kThreads,
                   parameters, addresses);
  }

 private:
  std::string which_;
  Window window_;
  bool counts_padding_;
  bool is_column_major_;
  int64_t order_;
};

class Conv final : public Operation {
 public:
  explicit Conv(const NodeView& node)
      : is_transposed_(node.op_type() == "ConvTranspose"),
        window_(node),
        group_(node.get_int("group", 1)),
        output_shape_(node.get_ints("output_shape")),
        output_padding_(node.get_ints("output_padding")) {}
  void plan(Planner& planner) const override {
    const InputFacts& x = planner.input(0);
    const Extents& w = planner.shape(1);
    if (w.size() != x.shape.size() || x.shape.size() < 3) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "weights " + text_of(w) + " for " + text_of(x.shape));
    }
    WindowParameters parameters = window_.parameters(x.shape, Extents(w.begin() + 2, w.end()));
    parameters.group = group_;
    const int64_t expected = is_transposed_ ? w[0] : w[1] * group_;
    if (group_ < 1 || expected != x.shape[1]) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the weights are for " + std::to_string(expected) +
                                                    " channels, found " +
                                                    std::to_string(x.shape[1]));
    }
    if (is_transposed_) {
      parameters.result_channels = w[1] * group_;
      spread(parameters, x.shape.size() - 2);
    } else {
      parameters.result_channels = w[0];
      window_.slide(parameters);
    }
    const Extents shape = shape_of(parameters, x.shape.size());
    parameters.count = count_of(shape);
    std::vector<std::pair<const void* const*, Buffer>> addresses = {
        {&parameters.result, planner.output(0, x.dtype, shape)},
        {&parameters.source, Planner::in(0)},
        {&parameters.weights, Planner::in(1)}};
    if (planner.has_input(2)) addresses.emplace_back(&parameters.bias, Planner::in(2));
    const int64_t channels = parameters.result_channels / group_;
    const int64_t places = count_of(shape, 2, shape.size());
    // A group of few channels would leave most of a tile empty.
    if (is_transposed_ || channels < kLeastChannels || places >= kMostPlaces) {
      planner.launch(source_of(is_transposed_ ? "CONV_TRANSPOSE" : "CONV", x.dtype),
                     blocks_for(planner, parameters.count), kThreads, parameters, addresses);
      return;
    }
    parameters.tiles_m = (channels + kTile - 1) / kTile;
    parameters.tiles_n = (places + kTile - 1) / kTile;
    planner.launch(kernel_source({"window.h"}, "\ntypedef " + type_name(x.dtype) + " T;\ntypedef " +
                                                   computed_name(x.dtype) + " C;\n" +
                                                   std::string(kernel_text("conv.cu"))),
                   parameters.tiles_m * parameters.tiles_n * group_ * parameters.batch, kThreads,
                   parameters, addresses);
  }

 private:
  // Extents of the result of a transposed convolution, and the padding that makes them.
  void spread(WindowParameters& p, size_t spatial) const {
    for (size_t i = 0; i < spatial; ++i) {
      const size_t axis = 3 - spatial + i;
      const int64_t added = output_padding_.empty() ? 0 : output_padding_.at(i);
      const int64_t whole =
          p.stride[axis] * (p.in[axis] - 1) + added + p.dilation[axis] * (p.kernel[axis] - 1) + 1;
      const bool is_same = window_.auto_pad().rfind("SAME", 0) == 0;
      if (output_shape_.empty() && !is_same) {
        p.out[axis] = whole - p.begin[axis] - p.end[axis];
        continue;
      }
      p.out[axis] = output_shape_.empty() ? p.in[axis] * p.stride[axis]
                                          : output_shape_[output_shape_.size() - spatial + i];
      const int64_t total = std::max<int64_t>(0, whole - p.out[axis]);
      p.begin[axis] = window_.auto_pad() == "SAME_UPPER" ? total / 2 : total - total / 2;
    }
  }

  bool is_transposed_;
  Window window_;
  int64_t group_;
  Extents output_shape_;
  Extents output_padding_;
};

constexpr sdk::DTypeSet kPooled = sdk::kFloats | sdk::dtypes(GANTRY_INT8, GANTRY_UINT8);

constexpr sdk::KernelRow kRows[] = {
    {"AveragePool", 7, sdk::kLatest, sdk::kFloats, make<Pool>},
    {"Conv", 1, sdk::kLatest, sdk::kFloats, make<Conv>},
    {"ConvTranspose", 1, sdk::kLatest, sdk::kFloats, make<Conv>},
    {"LpPool", 2, sdk::kLatest, sdk::kFloats, make<Pool>},
    {"MaxPool", 1, sdk::kLatest, kPooled, make<Pool>},
};

}  // namespace

sdk::KernelTable window_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
