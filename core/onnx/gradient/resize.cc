// SPDX-License-Identifier: Apache-2.0
// The derivative of an interpolating Resize. It is linear in its input and separable: along each
// axis it is a product with a matrix, which the Resize of an identity matrix gives.
#include <numeric>
#include <utility>

#include "onnx/gradient/rules.h"

namespace gantry {
namespace {

using To = Backward;
using onnx::NodeProto;
using Name = std::string;

enum ResizeSlot { kResizeImage, kResizeRegion, kResizeScales, kResizeSizes };

bool has_resize_input(const NodeProto& node, int slot) {
  return node.input_size() > slot && !in(node, slot).empty();
}
bool is_resize_crop(const NodeProto& node) {
  return text_of(node, "coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
}

/// The axes for which a Resize has sizes or scales, in their order.
std::vector<int64_t> resized_axes(const NodeProto& node, int rank) {
  std::vector<int64_t> axes = ints_of(node, "axes", 0, 0);
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  return axes;
}

/// True if axis number `place` of these is known not to change.
bool is_kept(const To& to, const NodeProto& node, size_t place, int64_t axis) {
  if (is_resize_crop(node)) return false;
  if (has_resize_input(node, kResizeSizes)) {
    const int64_t before = to.extents_of(in(node)).at(static_cast<size_t>(axis));
    const int64_t after = to.extents_of(out(node)).at(static_cast<size_t>(axis));
    return before >= 0 && before == after;
  }
  const auto scales = to.constant(in(node, kResizeScales));
  return scales && place < scales->size() && (*scales)[place] == 1;
}

/// The matrix [extent after, extent before] of an axis, number `place` of the `count` resized axes.
Name matrix_of(To& to, const NodeProto& node, int64_t axis, size_t place, size_t count) {
  const Name& x = in(node);
  const auto one_of = [&](int slot, size_t i) {
    return sliced(to, in(node, slot), 0, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1);
  };
  const auto joined = [&](const Names& parts) {
    return to.add("Concat", parts, {onnx::MakeAttribute("axis", int64_t{0})});
  };
  const Name extent = sliced(to, to.shape_of(x), 0, axis, axis + 1);
  const Name zeros = to.add("Expand", {to.number(x, 0), joined({extent, extent})});
  Names inputs = {to.add("EyeLike", {zeros}), "", ""};
  if (is_resize_crop(node)) {
    const Name& region = in(node, kResizeRegion);
    inputs[kResizeRegion] =
        joined({one_of(kResizeRegion, place), to.numbers(region, {0}, {1}),
                one_of(kResizeRegion, place + count), to.numbers(region, {1}, {1})});
  }
  if (has_resize_input(node, kResizeSizes)) {
    inputs.push_back(joined({one_of(kResizeSizes, place), extent}));
  } else {
    const Name one = to.numbers(in(node, kResizeScales), {1}, {1});
    inputs[kResizeScales] = joined({one_of(kResizeScales, place), one});
  }
  Attributes same;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    // The extrapolation value does not depend on the input.
    if (attribute.name() != "axes" && attribute.name() != "extrapolation_value")
      same.push_back(attribute);
  }
  return to.add("Resize", inputs, same);
}

}  // namespace

void resize_between(To& to, const NodeProto& node, const Name& g) {
  if (to.opset() < 11) to.fail(Code::kUnsupported, "the derivative of a Resize needs opset 11");
  if (text_of(node, "keep_aspect_ratio_policy", "stretch") != "stretch" ||
      (is_resize_crop(node) && !has_resize_input(node, kResizeRegion))) {
    to.fail(Code::kUnsupported,
            "the derivative of a Resize between elements that keeps the aspect ratio, or crops "
            "without a region, has no rule");
  }
  to.refuse_from(node, 1);
  const int rank = to.rank_of(in(node));
  const std::vector<int64_t> axes = resized_axes(node, rank);
  Name part = g;
  for (size_t place = 0; place < axes.size(); ++place) {
    const int64_t axis = axes[place];
    if (is_kept(to, node, place, axis)) continue;
    // Transposes, so that the MatMul is along the last axis.
    std::vector<int64_t> order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order.at(static_cast<size_t>(axis)), order.back());
    const auto exchanged = [&](const Name& value) {
      return axis == rank - 1 ? value
                              : to.add("Transpose", {value}, {onnx::MakeAttribute("perm", order)});
    };
    const Name matrix = matrix_of(to, node, axis, place, axes.size());
    part = exchanged(to.add("MatMul", {exchanged(part), matrix}));
  }
  to.give(in(node), part);
}

}  // namespace gantry
