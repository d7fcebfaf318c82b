// SPDX-License-Identifier: Apache-2.0
// Derivatives of normalizations: batch, instance, layer, group and RMS normalization, and LRN
// (local response normalization).
#include <numeric>

#include "onnx/gradient/rules.h"

namespace gantry {
namespace {

using To = Backward;
using onnx::NodeProto;
using Name = std::string;
using Axes = std::vector<int64_t>;

/// `first`, then the spatial axes.
Axes spatial_axes(int rank, Axes first) {
  for (int axis = 2; axis < rank; ++axis) first.push_back(axis);
  return first;
}

/// A vector of the channels, [C], shaped to broadcast to [N, C, ...].
Name by_channel(To& to, const Name& value, int rank) {
  Axes shape(static_cast<size_t>(rank - 1), 1);
  shape.front() = -1;
  return to.add("Reshape", {value, to.list(shape)});
}

Name deviation_of(To& to, const NodeProto& node, const Name& variance) {
  const auto epsilon = static_cast<double>(float_of(node, "epsilon", 1e-5F));
  return to.add("Sqrt", {to.add("Add", {variance, to.number(variance, epsilon)})});
}

/// The normalized x before scale and shift, and the standard deviation by which it was divided.
struct Normal {
  Name values;
  Name deviation;
};

/// Normalizes x by its own mean and variance over `axes`.
Normal own_normal(To& to, const NodeProto& node, const Name& x, const Axes& axes) {
  const Name centered = to.add("Sub", {x, to.mean_over(x, axes)});
  const Name variance = to.mean_over(to.product(centered, centered), axes);
  const Name deviation = deviation_of(to, node, variance);
  return {to.add("Div", {centered, deviation}), deviation};
}

/// With e the normalized x and d = g scale: (d - mean(d) - e mean(d e)) / deviation.
Name by_input(To& to, const Normal& normal, const Name& d, const Axes& axes) {
  const Name level = to.add("Sub", {d, to.mean_over(d, axes)});
  const Name tilt = to.product(normal.values, to.mean_over(to.product(d, normal.values), axes));
  return to.add("Div", {to.add("Sub", {level, tilt}), normal.deviation});
}

/// The derivatives by scale and shift per channel: inputs 1 and 2.
void give_channels(To& to, const NodeProto& node, const Name& g, const Normal& normal, int rank) {
  const Axes others = spatial_axes(rank, {0});
  const auto give = [&](const Name& name, const Name& part) {
    to.give(name, to.reshaped(to.sum_over(part, others), name));
  };
  if (to.wants(in(node, 1))) give(in(node, 1), to.product(g, normal.values));
  if (to.wants(in(node, 2))) give(in(node, 2), g);
}

void refuse_statistics(To& to, const NodeProto& node) {
  for (int i = 1; i < node.output_size(); ++i) {
    if (!to.has(node.output(i))) continue;
    to.fail(Code::kUnsupported,
            "the derivative of a " + node.op_type() + "'s statistics has no rule");
  }
}

/// The axes from the attribute `axis` on.
Axes last_axes(const To& to, const NodeProto& node) {
  const int rank = to.rank_of(in(node));
  const int first = axis_of(node, rank, -1);
  Axes axes(static_cast<size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

void layer_norm(To& to, const NodeProto& node, const Name& g) {
  refuse_statistics(to, node);
  const Axes axes = last_axes(to, node);
  const Normal normal = own_normal(to, node, in(node), axes);
  if (to.wants(in(node))) to.give(in(node), by_input(to, normal, to.product(g, in(node, 1)), axes));
  if (to.wants(in(node, 1))) to.give(in(node, 1), out(node), to.product(g, normal.values));
  if (node.input_size() > 2 && !in(node, 2).empty()) to.give(in(node, 2), out(node), g);
}

/// RMSNormalization: with e = x / sqrt(mean(x^2)), (d - e mean(d e)) / sqrt(mean(x^2)).
void root_mean_square_norm(To& to, const NodeProto& node, const Name& g) {
  const Name& x = in(node);
  const Axes axes = last_axes(to, node);
  const Name root = deviation_of(to, node, to.mean_over(to.product(x, x), axes));
  const Name normal = to.add("Div", {x, root});
  if (to.wants(in(node, 1))) to.give(in(node, 1), out(node), to.product(g, normal));
  if (!to.wants(x)) return;
  const Name d = to.product(g, in(node, 1));
  const Name tilt = to.product(normal, to.mean_over(to.product(d, normal), axes));
  to.give(x, to.add("Div", {to.add("Sub", {d, tilt}), root}));
}

void instance_norm(To& to, const NodeProto& node, const Name& g) {
  const int rank = to.rank_of(in(node));
  const Axes axes = spatial_axes(rank, {});
  const Normal normal = own_normal(to, node, in(node), axes);
  const Name d = to.product(g, by_channel(to, in(node, 1), rank));
  if (to.wants(in(node))) to.give(in(node), by_input(to, normal, d, axes));
  give_channels(to, node, g, normal, rank);
}

/// The channels of a group and their elements are flattened to one axis.
void group_norm(To& to, const NodeProto& node, const Name& g) {
  if (to.opset() < 21)
    to.fail(Code::kUnsupported, "the derivative of a GroupNormalization needs opset 21");
  const Name& x = in(node);
  const int rank = to.rank_of(x);
  const auto grouped = [&](const Name& value) {
    return to.add("Reshape", {value, to.list({0, int_of(node, "num_groups", 1), -1})});
  };
  Normal normal = own_normal(to, node, grouped(x), {2});
  const Name d = to.product(g, by_channel(to, in(node, 1), rank));
  if (to.wants(x)) to.give(x, to.reshaped(by_input(to, normal, grouped(d), {2}), x));
  normal.values = to.reshaped(normal.values, x);
  give_channels(to, node, g, normal, rank);
}

/// Normalization by mean and variance as inputs, which have derivatives too.
void by_given_statistics(To& to, const NodeProto& node, const Name& g, const Name& d, int rank) {
  const Name centered = to.add("Sub", {in(node), by_channel(to, in(node, 3), rank)});
  const Name deviation = deviation_of(to, node, by_channel(to, in(node, 4), rank));
  const Normal normal = {to.add("Div", {centered, deviation}), deviation};
  const Name part = to.add("Div", {d, deviation});
  if (to.wants(in(node))) to.give(in(node), part);
  give_channels(to, node, g, normal, rank);
  const Axes others = spatial_axes(rank, {0});
  if (to.wants(in(node, 3)))
    to.give(in(node, 3), to.reshaped(to.scaled(to.sum_over(part, others), -1), in(node, 3)));
  if (!to.wants(in(node, 4))) return;
  const Name bend = to.scaled(to.add("Div", {to.product(part, normal.values), deviation}), -0.5);
  to.give(in(node, 4), to.reshaped(to.sum_over(bend, others), in(node, 4)));
}

void batch_norm(To& to, const NodeProto& node, const Name& g) {
  refuse_statistics(to, node);
  const bool is_training = int_of(node, "training_mode", 0) != 0;
  const bool is_old = to.opset() < 14 && node.output_size() > 1;
  if (is_old || to.opset() < 9 || to.element_type(in(node)) != to.element_type(in(node, 1))) {
    to.fail(Code::kUnsupported,
            "the derivative of a BatchNormalization before opset 9, of one in training before "
            "opset 14, or of one with scales of another type than its input has no rule");
  }
  const int rank = to.rank_of(in(node));
  const Name d = to.product(g, by_channel(to, in(node, 1), rank));
  if (!is_training) return by_given_statistics(to, node, g, d, rank);
  const Axes axes = spatial_axes(rank, {0});
  const Normal normal = own_normal(to, node, in(node), axes);
  if (to.wants(in(node))) to.give(in(node), by_input(to, normal, d, axes));
  give_channels(to, node, g, normal, rank);
}

/// The mean of LRN over the channels near each channel; `is_mirrored`: over the channels to which a
/// channel is near. value: [N, C, ...].
Name near_mean(To& to, const NodeProto& node, const Name& value, int rank, bool is_mirrored) {
  const int64_t size = int_of(node, "size", 1);
  const int64_t before = is_mirrored ? size / 2 : (size - 1) / 2;
  Axes kernel(static_cast<size_t>(rank - 1), 1);
  Axes pads(2 * kernel.size(), 0);
  kernel[0] = size;
  pads[0] = before;
  pads[kernel.size()] = size - 1 - before;
  const Name image = unsqueezed(to, value, {1});
  const Name mean =
      to.add("AveragePool", {image},
             {onnx::MakeAttribute("kernel_shape", kernel), onnx::MakeAttribute("pads", pads),
              onnx::MakeAttribute("count_include_pad", int64_t{1})});
  return to.reshaped(mean, in(node));
}

/// y = x s^-beta with s = bias + alpha near_mean(x^2).
void local_response_norm(To& to, const NodeProto& node, const Name& g) {
  if (to.opset() < 7) to.fail(Code::kUnsupported, "the derivative of an LRN needs opset 7");
  const Name& x = in(node);
  const int rank = to.rank_of(x);
  const auto alpha = static_cast<double>(float_of(node, "alpha", 1e-4F));
  const auto beta = static_cast<double>(float_of(node, "beta", 0.75F));
  const Name bias = to.number(x, static_cast<double>(float_of(node, "bias", 1.0F)));
  const Name mean = near_mean(to, node, to.product(x, x), rank, false);
  const Name base = to.add("Add", {to.scaled(mean, alpha), bias});
  const Name power = to.add("Pow", {base, to.number(x, -beta)});
  const Name bend = to.product(to.product(g, x), to.add("Div", {power, base}));
  const Name others = to.product(x, near_mean(to, node, bend, rank, true));
  to.give(x, to.add("Sub", {to.product(g, power), to.scaled(others, 2 * alpha * beta)}));
}

}  // namespace

const std::map<std::string, Rule>& norm_rules() {
  static const std::map<std::string, Rule> kRules = {
      {"BatchNormalization", batch_norm},       {"GroupNormalization", group_norm},
      {"InstanceNormalization", instance_norm}, {"LRN", local_response_norm},
      {"LayerNormalization", layer_norm},       {"RMSNormalization", root_mean_square_norm},
  };
  return kRules;
}

}  // namespace gantry
