// SPDX-License-Identifier: Apache-2.0
#include "operators/nn/window_shape.h"

#include <algorithm>

#include "compile/kernel_texts.h"

namespace gantry::cuda {

Window::Window(const sdk::NodeView& node)
    : kernel_(node.get_ints("kernel_shape")),
      strides_(node.get_ints("strides")),
      dilations_(node.get_ints("dilations")),
      pads_(node.get_ints("pads")),
      auto_pad_(node.get_string("auto_pad", "NOTSET")),
      rounds_up_(node.get_int("ceil_mode", 0) != 0) {}

WindowParameters Window::parameters(const Extents& x, Extents kernel) const {
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

void Window::slide(WindowParameters& p) const {
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
    // With ceil_mode, windows that begin behind the source and its leading padding are dropped.
    if (rounds_up_) {
      const int64_t starts = (p.in[axis] + p.begin[axis] - 1) / p.stride[axis] + 1;
      p.out[axis] = std::min<int64_t>(p.out[axis], starts);
    }
  }
}

void Window::spread(WindowParameters& p, const Extents& output_shape, const Extents& output_padding,
                    size_t spatial) const {
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = 3 - spatial + i;
    const int64_t added = output_padding.empty() ? 0 : output_padding.at(i);
    const int64_t whole =
        p.stride[axis] * (p.in[axis] - 1) + added + p.dilation[axis] * (p.kernel[axis] - 1) + 1;
    const bool is_same = auto_pad_.rfind("SAME", 0) == 0;
    if (output_shape.empty() && !is_same) {
      p.out[axis] = whole - p.begin[axis] - p.end[axis];
      continue;
    }
    p.out[axis] = output_shape.empty() ? p.in[axis] * p.stride[axis]
                                       : output_shape[output_shape.size() - spatial + i];
    const int64_t total = std::max<int64_t>(0, whole - p.out[axis]);
    p.begin[axis] = auto_pad_ == "SAME_UPPER" ? total / 2 : total - total / 2;
    p.end[axis] = total - p.begin[axis];
  }
}

Extents shape_of(const WindowParameters& p, size_t rank) {
  Extents shape = {p.batch, p.result_channels};
  shape.insert(shape.end(), p.out + 3 - (rank - 2), p.out + 3);
  return shape;
}

void check_positions(const WindowParameters& p) {
  constexpr int64_t kMost = int64_t{1} << 29;
  for (size_t axis = 0; axis < 3; ++axis) {
    const Offset reach = p.dilation[axis] * p.kernel[axis];
    for (const Offset one : {p.in[axis], p.begin[axis], p.end[axis], p.stride[axis], reach}) {
      if (one >= -kMost && one < kMost) continue;
      throw sdk::Error(GANTRY_UNSUPPORTED,
                       "a window, or what it goes over, has " + std::to_string(one) +
                           " positions along an axis, more than " + std::to_string(kMost));
    }
  }
}

void settle_window(WindowParameters& parameters) {
  check_positions(parameters);
  for (size_t axis = 0; axis < 3; ++axis)
    parameters.out_extents[axis] = divisor_of(parameters.out[axis]);
  parameters.result_channel_extent = divisor_of(parameters.result_channels);
}

void launch_window(Planner& planner, WindowParameters& parameters, const char* file,
                   const std::string& define, uint32_t dtype,
                   const std::vector<std::pair<const void* const*, Buffer>>& addresses) {
  if (parameters.count == 0) return;
  settle_window(parameters);
  const std::string body = std::string("\ntypedef ") +
                           index_type(parameters.count < int64_t{1} << 31) + " Index;\ntypedef " +
                           type_name(dtype) + " T;\ntypedef " + computed_name(dtype) +
                           " C;\n#define " + define + "\n" + std::string(kernel_text("window.cu")) +
                           std::string(kernel_text(file));
  planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "window.h"}, body),
                 blocks_for(planner, parameters.count), kThreads, parameters, addresses);
}

}  // namespace gantry::cuda
