// SPDX-License-Identifier: Apache-2.0
// Arithmetic of sliding windows, shared by convolution and pooling: the attributes, parsed once,
// and the windows of one input shape, computed per run on the stack. Overflow is excluded by
// kMaxExtent. Plain values, any thread.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "attributes.h"

namespace gantry::cpu {

/// Spatial axes of a windowed operator; more are refused.
inline constexpr int kMaxWindowAxes = 16;
/// Extents, strides and pads beyond this are refused, so that sums and products of two of them
/// cannot overflow.
inline constexpr int64_t kMaxExtent = int64_t{1} << 30;

enum class AutoPad { kNotSet, kValid, kSameUpper, kSameLower };

/// Attributes of a windowed operator. An empty list means the default. The constructor throws
/// INVALID_MODEL for values out of range.
struct WindowAttributes {
  explicit WindowAttributes(const sdk::NodeView& node)
      : kernel(node.get_ints("kernel_shape")),
        strides(node.get_ints("strides")),
        dilations(node.get_ints("dilations")),
        pads(node.get_ints("pads")),
        ceil_mode(node.get_int("ceil_mode", 0) != 0) {
    // An empty string also means NOTSET.
    auto_pad = read_choice<AutoPad>(node, "auto_pad", "NOTSET",
                                    {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", ""});
    if (auto_pad > AutoPad::kSameLower) auto_pad = AutoPad::kNotSet;
    check(node, kernel, "kernel_shape", 1);
    check(node, strides, "strides", 1);
    check(node, dilations, "dilations", 1);
    check(node, pads, "pads", 0);
  }

  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads;
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil_mode;

 private:
  static void check(const sdk::NodeView& node, const std::vector<int64_t>& values, const char* name,
                    int64_t least) {
    for (const int64_t value : values) {
      if (value >= least && value <= kMaxExtent) continue;
      node.fail(GANTRY_INVALID_MODEL, "attribute " + std::string(name) + " holds " +
                                          std::to_string(value) + ", expected a number from " +
                                          std::to_string(least) + " to 2^30");
    }
  }
};

/// Windows along one axis: window `o` covers the inputs o * stride - pad_begin + k * dilation for k
/// in [0, kernel).
struct WindowAxis {
  int64_t input;
  int64_t output;
  int64_t kernel;
  int64_t stride;
  int64_t dilation;
  int64_t pad_begin;
  int64_t pad_end;

  /// Distance from the first to one past the last input of a window.
  [[nodiscard]] int64_t span() const { return (kernel - 1) * dilation + 1; }
  /// First input of window `o`; may lie in the padding.
  [[nodiscard]] int64_t start(int64_t o) const { return o * stride - pad_begin; }
  /// The taps of window `o` that lie in [low, high) are [first_tap, end_tap).
  [[nodiscard]] int64_t first_tap(int64_t o, int64_t low = 0) const {
    return least(low - start(o), dilation, kernel);
  }
  [[nodiscard]] int64_t end_tap(int64_t o, int64_t high) const {
    return least(high - start(o), dilation, kernel);
  }
  [[nodiscard]] int64_t end_tap(int64_t o) const { return end_tap(o, input); }
  /// The windows whose tap `k` lies in the input are [first_window, end_window).
  [[nodiscard]] int64_t first_window(int64_t k) const {
    return least(pad_begin - k * dilation, stride, output);
  }
  [[nodiscard]] int64_t end_window(int64_t k) const {
    return least(input + pad_begin - k * dilation, stride, output);
  }

 private:
  /// The least i in [0, count] with i * step >= distance, or count.
  static int64_t least(int64_t distance, int64_t step, int64_t count) {
    if (distance <= 0) return 0;
    const int64_t i = (distance + step - 1) / step;
    return i < count ? i : count;
  }
};

/// The windows along the spatial axes of one run.
class Window {
 public:
  Window() = default;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const WindowAxis& operator[](int i) const { return axes_[i]; }
  WindowAxis& operator[](int i) { return axes_[i]; }
  /// Products over the axes [first, last).
  [[nodiscard]] int64_t kernel_count(int first, int last) const {
    int64_t product = 1;
    for (int i = first; i < last; ++i) product *= axes_[i].kernel;
    return product;
  }
  [[nodiscard]] int64_t kernel_count() const { return kernel_count(0, rank_); }
  [[nodiscard]] int64_t output_count(int first, int last) const {
    int64_t product = 1;
    for (int i = first; i < last; ++i) product *= axes_[i].output;
    return product;
  }
  [[nodiscard]] int64_t output_count() const { return output_count(0, rank_); }
  /// Windows over the axes of `input` from 2 on; kernel[i] is the kernel extent of axis i + 2.
  /// Output extents are left at 0, for the caller to set. Throws INVALID_ARGUMENT if shapes and
  /// attributes do not fit.
  static Window sized(const WindowAttributes& attributes, sdk::Shape input, const int64_t* kernel,
                      const std::string& label) {
    Window window;
    window.rank_ = input.rank - 2;
    if (window.rank_ < 1 || window.rank_ > kMaxWindowAxes) {
      fail(label, "input 0 has rank " + std::to_string(input.rank) + ", needs 3 to " +
                      std::to_string(kMaxWindowAxes + 2));
    }
    const auto rank = static_cast<size_t>(window.rank_);
    check_length(attributes.strides, rank, "strides", label);
    check_length(attributes.dilations, rank, "dilations", label);
    check_length(attributes.pads, 2 * rank, "pads", label);
    for (size_t i = 0; i < rank; ++i) {
      WindowAxis& axis = window.axes_[i];
      axis.input = input[static_cast<int>(i) + 2];
      axis.kernel = kernel[i];
      axis.stride = attributes.strides.empty() ? 1 : attributes.strides[i];
      axis.dilation = attributes.dilations.empty() ? 1 : attributes.dilations[i];
      const bool has_pads = attributes.auto_pad == AutoPad::kNotSet && !attributes.pads.empty();
      axis.pad_begin = has_pads ? attributes.pads[i] : 0;
      axis.pad_end = has_pads ? attributes.pads[i + rank] : 0;
      axis.output = 0;
      if (axis.input > kMaxExtent || axis.kernel < 1 || axis.kernel > kMaxExtent) {
        fail(label, "axis " + std::to_string(i + 2) + " has extent " + std::to_string(axis.input) +
                        " and kernel extent " + std::to_string(axis.kernel) +
                        ", expected extents of at most 2^30 and a kernel of at least 1");
      }
    }
    return window;
  }

  /// Windows of a convolution or pool, with output extents and automatic pads. Throws as sized(),
  /// and if a window is larger than the padded input.
  static Window sliding(const WindowAttributes& attributes, sdk::Shape input, const int64_t* kernel,
                        const std::string& label) {
    Window window = sized(attributes, input, kernel, label);
    for (int i = 0; i < window.rank_; ++i) {
      WindowAxis& axis = window.axes_[i];
      if (attributes.auto_pad == AutoPad::kSameUpper ||
          attributes.auto_pad == AutoPad::kSameLower) {
        pad_to_same(axis, attributes.auto_pad);
      } else {
        slide(axis, attributes.ceil_mode, i, label);
      }
    }
    return window;
  }

  [[noreturn]] static void fail(const std::string& label, const std::string& what) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, label + ": " + what);
  }

 private:
  static void pad_to_same(WindowAxis& axis, AutoPad mode) {
    axis.output = (axis.input + axis.stride - 1) / axis.stride;
    const int64_t total =
        axis.output > 0 ? (axis.output - 1) * axis.stride + axis.span() - axis.input : 0;
    const int64_t pad = total > 0 ? total : 0;
    axis.pad_begin = mode == AutoPad::kSameLower ? (pad + 1) / 2 : pad / 2;
    axis.pad_end = pad - axis.pad_begin;
  }
  static void slide(WindowAxis& axis, bool ceil_mode, int index, const std::string& label) {
    const int64_t room = axis.input + axis.pad_begin + axis.pad_end - axis.span();
    // With ceil_mode a first, incomplete window counts too, if it lacks less than a stride.
    if (room < 0 && !(ceil_mode && axis.input > 0 && room > -axis.stride)) {
      if (axis.input == 0) return;  // An empty input has an empty output.
      fail(label, "the window of axis " + std::to_string(index + 2) + " spans " +
                      std::to_string(axis.span()) + " inputs, more than the padded extent " +
                      std::to_string(room + axis.span()));
    }
    axis.output = room < 0 ? 0 : room / axis.stride + 1;
    if (!ceil_mode) return;
    // A last, incomplete window counts too; none that starts in the padding behind the input.
    const int64_t starts = (axis.input + axis.pad_begin - 1) / axis.stride + 1;
    axis.output = std::min(axis.output + (room % axis.stride != 0 ? 1 : 0), starts);
  }
  static void check_length(const std::vector<int64_t>& values, size_t expected, const char* name,
                           const std::string& label) {
    if (values.empty() || values.size() == expected) return;
    fail(label, "attribute " + std::string(name) + " has " + std::to_string(values.size()) +
                    " numbers, expected " + std::to_string(expected));
  }

  int rank_ = 0;
  WindowAxis axes_[kMaxWindowAxes];
};

/// Iterates over the index tuples below `extents` in row-major order.
class Odometer {
 public:
  Odometer(const int64_t* extents, int rank, int64_t position = 0)
      : extents_(extents), rank_(rank) {
    for (int i = rank - 1; i >= 0; --i) {
      index_[i] = position % extents[i];
      position /= extents[i];
    }
  }
  [[nodiscard]] int64_t operator[](int i) const { return index_[i]; }
  void next() {
    for (int i = rank_ - 1; i >= 0; --i) {
      if (++index_[i] < extents_[i]) return;
      index_[i] = 0;
    }
  }

 private:
  const int64_t* extents_;
  int rank_;
  int64_t index_[kMaxWindowAxes];
};

}  // namespace gantry::cpu
