// SPDX-License-Identifier: Apache-2.0
// Derivatives of sliding-window operators: convolutions and pools.
#include <algorithm>
#include <numeric>

#include "onnx/gradient/rules.h"

namespace gantry {
namespace {

using To = Backward;
using onnx::NodeProto;
using Name = std::string;

/// The positions of windows on an image, by spatial axis. `output`: number of windows.
struct PoolWindows {
  std::vector<int64_t> image;
  std::vector<int64_t> output;
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads;  ///< begin of every axis, then end of every axis

  [[nodiscard]] size_t axes() const { return image.size(); }
  /// The extent of a window, dilation included, and the end of the last window.
  [[nodiscard]] int64_t reach(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
  [[nodiscard]] int64_t end(size_t i) const { return (output[i] - 1) * strides[i] + reach(i); }
};

std::vector<int64_t> spatial_extents(const To& to, const Name& name, const NodeProto& node) {
  const std::vector<int64_t> all = to.extents_of(name);
  std::vector<int64_t> extents(all.begin() + std::min<std::ptrdiff_t>(2, all.end() - all.begin()),
                               all.end());
  if (std::find(extents.begin(), extents.end(), -1) != extents.end()) {
    to.fail(Code::kUnsupported, "the derivative of " + node.op_type() + " needs the shape of \"" +
                                    name + "\", which is not known before the run");
  }
  return extents;
}

/// The window attributes of a node with windows on `image`, one for each element of `output`.
PoolWindows windows_of(const To& to, const NodeProto& node, const Name& image, const Name& output,
                       std::vector<int64_t> kernel) {
  PoolWindows w;
  w.image = spatial_extents(to, image, node);
  w.output = spatial_extents(to, output, node);
  w.kernel = std::move(kernel);
  w.strides = ints_of(node, "strides", w.axes(), 1);
  w.dilations = ints_of(node, "dilations", w.axes(), 1);
  w.pads = ints_of(node, "pads", 2 * w.axes(), 0);
  if (w.output.size() != w.axes() || w.kernel.size() != w.axes())
    to.fail(Code::kInvalidModel, node.op_type() + " has a kernel of another rank than its image");
  const std::string automatic = text_of(node, "auto_pad", "NOTSET");
  const bool is_transposed = node.op_type() == "ConvTranspose";
  const bool is_sized = is_transposed && find_attribute(node, "output_shape");
  if (automatic == "NOTSET" && !is_sized) return w;
  const std::vector<int64_t> beyond = ints_of(node, "output_padding", w.axes(), 0);
  for (size_t i = 0; i < w.axes(); ++i) {
    const int64_t rest = w.end(i) - w.image[i] + (is_transposed ? beyond[i] : 0);
    if (rest < 0 && is_transposed)
      to.fail(Code::kUnsupported, "the derivative of a widened ConvTranspose has no rule");
    const int64_t total = automatic == "VALID" ? 0 : std::max<int64_t>(rest, 0);
    const bool ends_more = automatic == "SAME_UPPER";
    w.pads[i] = ends_more ? total / 2 : total - total / 2;
    w.pads[i + w.axes()] = total - w.pads[i];
  }
  return w;
}

/// The sum, for each pixel of the image, of weights times `g` over the windows that contain it (a
/// transposed convolution).
Name spread(To& to, const PoolWindows& w, const Name& g, const Name& weights, int64_t group) {
  // Pixels at the end that are in no window get zeros.
  std::vector<int64_t> pads = w.pads;
  std::vector<int64_t> rest(w.axes());
  for (size_t i = 0; i < w.axes(); ++i) {
    const int64_t beyond = w.end(i) - w.pads[i] - w.image[i];
    pads[i + w.axes()] = std::max<int64_t>(beyond, 0);
    rest[i] = std::max<int64_t>(-beyond, 0);
  }
  return to.add("ConvTranspose", {g, weights},
                {onnx::MakeAttribute("strides", w.strides),
                 onnx::MakeAttribute("dilations", w.dilations), onnx::MakeAttribute("pads", pads),
                 onnx::MakeAttribute("output_padding", rest), onnx::MakeAttribute("group", group)});
}

/// A value with its first two axes swapped.
Name swapped(To& to, const Name& value, size_t axes) {
  std::vector<int64_t> order(axes + 2);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  return to.add("Transpose", {value}, {onnx::MakeAttribute("perm", order)});
}

/// [N, groups C, ...] to [C, groups N, ...].
Name swapped_in_groups(To& to, const PoolWindows& w, const Name& image, int64_t channels,
                       int64_t group) {
  if (group == 1) return swapped(to, image, w.axes());
  std::vector<int64_t> parted = {0, group, channels};  // 0: copied by Reshape
  std::vector<int64_t> joined = {channels, -1};
  std::vector<int64_t> order = {2, 1, 0};
  for (size_t i = 0; i < w.axes(); ++i) {
    parted.push_back(w.image[i]);
    joined.push_back(w.image[i]);
    order.push_back(static_cast<int64_t>(i) + 3);
  }
  const Name apart = to.add("Reshape", {image, to.list(parted)});
  const Name transposed = to.add("Transpose", {apart}, {onnx::MakeAttribute("perm", order)});
  return to.add("Reshape", {transposed, to.list(joined)});
}

/// The derivative by the weights [M, channels, ...]: the convolution of the image with g, with
/// samples and channels swapped, and strides and dilations swapped.
Name by_weights(To& to, const PoolWindows& w, const Name& image, const Name& g, int64_t channels,
                int64_t group) {
  Name whole = to.add(
      "Conv", {swapped_in_groups(to, w, image, channels, group), swapped(to, g, w.axes())},
      {onnx::MakeAttribute("strides", w.dilations), onnx::MakeAttribute("dilations", w.strides),
       onnx::MakeAttribute("pads", w.pads), onnx::MakeAttribute("group", group)});
  for (size_t i = 0; i < w.axes(); ++i)
    whole = sliced(to, whole, static_cast<int>(i) + 2, 0, w.kernel[i]);
  return swapped(to, whole, w.axes());
}

/// The derivative by the bias, input 2, [C].
void bias(To& to, const NodeProto& node, const Name& g, size_t axes) {
  if (node.input_size() < 3 || !to.wants(in(node, 2))) return;
  std::vector<int64_t> others = {0};
  for (size_t i = 0; i < axes; ++i) others.push_back(static_cast<int64_t>(i) + 2);
  to.give(in(node, 2), to.reshaped(to.sum_over(g, others), in(node, 2)));
}

void conv(To& to, const NodeProto& node, const Name& g) {
  const Name& x = in(node);
  const std::vector<int64_t> weights = to.known_extents(in(node, 1), "Conv");
  const PoolWindows w = windows_of(to, node, x, out(node), {weights.begin() + 2, weights.end()});
  const int64_t group = int_of(node, "group", 1);
  if (to.wants(x)) to.give(x, spread(to, w, g, in(node, 1), group));
  if (to.wants(in(node, 1))) to.give(in(node, 1), by_weights(to, w, x, g, weights[1], group));
  bias(to, node, g, w.axes());
}

/// ConvTranspose: a convolution in which input and output are swapped.
void conv_transpose(To& to, const NodeProto& node, const Name& g) {
  const Name& x = in(node);
  const std::vector<int64_t> weights = to.known_extents(in(node, 1), "ConvTranspose");
  const PoolWindows w = windows_of(to, node, out(node), x, {weights.begin() + 2, weights.end()});
  const int64_t group = int_of(node, "group", 1);
  if (to.wants(x)) {
    Name part = to.add(
        "Conv", {g, in(node, 1)},
        {onnx::MakeAttribute("strides", w.strides), onnx::MakeAttribute("dilations", w.dilations),
         onnx::MakeAttribute("pads", w.pads), onnx::MakeAttribute("group", group)});
    // With output_padding of a stride or more there is room for another window.
    for (size_t i = 0; i < w.axes(); ++i) {
      if (w.image[i] + w.pads[i] + w.pads[i + w.axes()] - w.end(i) >= w.strides[i])
        part = sliced(to, part, static_cast<int>(i) + 2, 0, w.output[i]);
    }
    to.give(x, part);
  }
  if (to.wants(in(node, 1))) to.give(in(node, 1), by_weights(to, w, g, x, weights[1], group));
  bias(to, node, g, w.axes());
}

PoolWindows pool_windows(const To& to, const NodeProto& node) {
  return windows_of(to, node, in(node), out(node), ints_of(node, "kernel_shape", 0, 1));
}

/// The sum of `g` over the windows that contain each pixel of the input of a pool.
Name pool_sum(To& to, const PoolWindows& w, const NodeProto& node, const Name& g) {
  std::vector<int64_t> kernel = {1, 1};
  std::vector<int64_t> planes = {-1, 1};
  kernel.insert(kernel.end(), w.kernel.begin(), w.kernel.end());
  planes.insert(planes.end(), w.output.begin(), w.output.end());
  const Name ones = to.add("Expand", {to.number(in(node), 1), to.list(kernel)});
  const Name flat = to.add("Reshape", {g, to.list(planes)});
  return to.reshaped(spread(to, w, flat, ones, 1), in(node));
}

/// Number of elements of each window of an AveragePool along one axis.
std::vector<double> window_counts(const PoolWindows& w, size_t axis, bool counts_pads) {
  const int64_t first = counts_pads ? -w.pads[axis] : 0;
  const int64_t end = w.image[axis] + (counts_pads ? w.pads[axis + w.axes()] : 0);
  std::vector<double> counts;
  for (int64_t window = 0; window < w.output[axis]; ++window) {
    int64_t count = 0;
    for (int64_t k = 0; k < w.kernel[axis]; ++k) {
      const int64_t place = window * w.strides[axis] - w.pads[axis] + k * w.dilations[axis];
      count += place >= first && place < end ? 1 : 0;
    }
    counts.push_back(static_cast<double>(count));
  }
  return counts;
}

void average_pool(To& to, const NodeProto& node, const Name& g) {
  const PoolWindows w = pool_windows(to, node);
  Name part = g;
  for (size_t i = 0; i < w.axes(); ++i) {
    std::vector<int64_t> along(w.axes(), 1);
    along[i] = w.output[i];
    const bool counts_pads = int_of(node, "count_include_pad", 0) != 0;
    const Name counts = to.numbers(in(node), window_counts(w, i, counts_pads), along);
    part = to.add("Div", {part, counts});
  }
  to.give(in(node), pool_sum(to, w, node, part));
}

void max_pool(To& to, const NodeProto& node, const Name& g) {
  if (to.opset() < 16) to.fail(Code::kUnsupported, "the derivative of a MaxPool needs opset 16");
  Attributes attributes;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != "storage_order") attributes.push_back(attribute);
  }
  const Name indices = to.add_all("MaxPool", {in(node)}, attributes, 2)[1];
  to.give(in(node), scattered(to, in(node), indices, g));
}

/// The derivative of (sum of |x|^p)^(1/p) as two factors: one of x, and one of the sum, which is
/// multiplied by g. For a sum of 0 it is 0.
struct NormSlope {
  Name own;
  Name shared;
};
NormSlope norm_slope(To& to, const NodeProto& node, const Name& g) {
  const Name& x = in(node);
  const auto p = static_cast<double>(int_of(node, "p", 2));
  const Name powers = to.add("Pow", {to.add("Abs", {x}), to.number(x, p - 1)});
  const Name quotient = to.product(g, to.add("Pow", {out(node), to.number(out(node), 1 - p)}));
  const Name is_there = to.add("Greater", {out(node), to.number(out(node), 0)});
  return {to.product(to.add("Sign", {x}), powers), to.where(is_there, quotient)};
}

void lp_pool(To& to, const NodeProto& node, const Name& g) {
  if (to.opset() < 2) to.fail(Code::kUnsupported, "the derivative of an LpPool needs opset 2");
  const NormSlope slope = norm_slope(to, node, g);
  const PoolWindows w = pool_windows(to, node);
  to.give(in(node), to.product(slope.own, pool_sum(to, w, node, slope.shared)));
}

void global_lp(To& to, const NodeProto& node, const Name& g) {
  if (to.opset() < 2) to.fail(Code::kUnsupported, "the derivative of a GlobalLpPool needs opset 2");
  const NormSlope slope = norm_slope(to, node, g);
  to.give(in(node), to.product(slope.own, slope.shared));
}

void global_average(To& to, const NodeProto& node, const Name& g) {
  double count = 1;
  for (const int64_t extent : spatial_extents(to, in(node), node))
    count *= static_cast<double>(extent);
  to.give(in(node), to.product(to.ones_like(in(node)), to.scaled(g, 1 / count)));
}

/// GlobalMaxPool: each of several equal elements gets the derivative.
void global_max(To& to, const NodeProto& node, const Name& g) {
  const Name all = to.product(to.ones_like(in(node)), g);
  to.give(in(node), to.where(to.add("Equal", {in(node), out(node)}), all));
}

}  // namespace

const std::map<std::string, Rule>& window_rules() {
  static const std::map<std::string, Rule> kRules = {
      {"AveragePool", average_pool},
      {"Conv", conv},
      {"ConvTranspose", conv_transpose},
      {"GlobalAveragePool", global_average},
      {"GlobalLpPool", global_lp},
      {"GlobalMaxPool", global_max},
      {"LpPool", lp_pool},
      {"MaxPool", max_pool},
  };
  return kRules;
}

}  // namespace gantry
