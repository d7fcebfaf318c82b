// SPDX-License-Identifier: Apache-2.0
// Derivatives of data movement: operators that move, concatenate or select elements.
#include <algorithm>

#include "onnx/gradient/rules.h"

namespace gantry {
namespace {

using To = Backward;
using onnx::NodeProto;
using Name = std::string;

void transpose(To& to, const NodeProto& node, const Name& g) {
  const int rank = to.rank_of(in(node));
  std::vector<int64_t> inverse(static_cast<size_t>(rank));
  const onnx::AttributeProto* order = find_attribute(node, "perm");
  for (int i = 0; i < rank; ++i) {
    const int64_t from = order ? order->ints(i) : rank - 1 - i;
    inverse[static_cast<size_t>(from)] = i;
  }
  to.give(in(node), to.add("Transpose", {g}, {onnx::MakeAttribute("perm", inverse)}));
}

void reshape(To& to, const NodeProto& node, const Name& g) {
  to.give(in(node), to.reshaped(g, in(node)));
}

void expand(To& to, const NodeProto& node, const Name& g) { to.give(in(node), out(node), g); }

void concat(To& to, const NodeProto& node, const Name& g) {
  if (to.opset() < 10) to.fail(Code::kUnsupported, "the derivative of a Concat needs opset 10");
  const int axis = axis_of(node, to.rank_of(out(node)), 0);
  int64_t begin = 0;
  for (const Name& input : node.input()) {
    const int64_t extent = to.known_extents(input, "Concat")[static_cast<size_t>(axis)];
    if (to.wants(input)) to.give(input, sliced(to, g, axis, begin, begin + extent));
    begin += extent;
  }
}

void split(To& to, const NodeProto& node, const Name& /*g*/) {
  Names parts;
  for (const Name& output : node.output()) parts.push_back(to.derivative(output));
  const int64_t axis = int_of(node, "axis", 0);
  to.give(in(node), to.add("Concat", parts, {onnx::MakeAttribute("axis", axis)}));
}

onnx::AttributeProto adds() { return onnx::MakeAttribute("reduction", std::string("add")); }

void require_sums(To& to, const NodeProto& node) {
  if (to.opset() >= 16) return;
  to.fail(Code::kUnsupported, "the derivative of a " + node.op_type() + " needs opset 16");
}

/// The same operator applied to the flat indices of the elements gives where each element came
/// from.
void moved(To& to, const NodeProto& node, const Name& g) {
  require_sums(to, node);
  const Name& x = in(node);
  const Name indices = to.add("Range", {to.whole(0), to.add("Size", {x}), to.whole(1)});
  Names inputs = {to.reshaped(indices, x)};
  for (int i = 1; i < node.input_size(); ++i) inputs.push_back(in(node, i));
  const Attributes same(node.attribute().begin(), node.attribute().end());
  to.give(x, scattered(to, x, to.add(node.op_type().c_str(), inputs, same), g));
}

/// Rows that are gathered more than once get the sum of their derivatives.
void gather(To& to, const NodeProto& node, const Name& g) {
  if (axis_of(node, to.rank_of(in(node)), 0) != 0) return moved(to, node, g);
  require_sums(to, node);
  const Name indices = to.add("Unsqueeze", {in(node, 1), to.list({-1})});
  to.give(in(node), to.add("ScatterND", {to.zeros_like(in(node)), indices, g}, {adds()}));
}

void gather_elements(To& to, const NodeProto& node, const Name& g) {
  require_sums(to, node);
  const auto axis = onnx::MakeAttribute("axis", int_of(node, "axis", 0));
  to.give(in(node),
          to.add("ScatterElements", {to.zeros_like(in(node)), in(node, 1), g}, {axis, adds()}));
}

/// ScatterElements and ScatterND.
void scatter(To& to, const NodeProto& node, const Name& g) {
  const std::string reduction = text_of(node, "reduction", "none");
  if (reduction != "none" && reduction != "add") {
    to.fail(Code::kUnsupported, "the derivative of a " + node.op_type() + " with reduction \"" +
                                    reduction + "\" has no rule");
  }
  const bool is_flat = node.op_type() == "ScatterElements";
  Attributes axis;
  if (is_flat) axis.push_back(onnx::MakeAttribute("axis", int_of(node, "axis", 0)));
  const Name& indices = in(node, 1);
  if (to.wants(in(node))) {
    const bool is_replaced = reduction == "none";
    to.give(in(node), is_replaced ? to.add(node.op_type().c_str(),
                                           {g, indices, to.zeros_like(in(node, 2))}, axis)
                                  : g);
  }
  if (to.wants(in(node, 2)))
    to.give(in(node, 2), to.add(is_flat ? "GatherElements" : "GatherND", {g, indices}, axis));
}

void top(To& to, const NodeProto& node, const Name& g) {
  if (to.opset() < 11) to.fail(Code::kUnsupported, "the derivative of a TopK needs opset 11");
  const auto axis = onnx::MakeAttribute("axis", int_of(node, "axis", -1));
  to.give(in(node),
          to.add("ScatterElements", {to.zeros_like(in(node)), node.output(1), g}, {axis}));
}

/// Padding is cut off; cropped parts (negative pads) get zeros.
void pad(To& to, const NodeProto& node, const Name& g) {
  if (text_of(node, "mode", "constant") != "constant") return moved(to, node, g);
  to.refuse_from(node, 1);
  if (const onnx::AttributeProto* widths = find_attribute(node, "pads")) {
    std::vector<int64_t> back(widths->ints().begin(), widths->ints().end());
    for (int64_t& width : back) width = -width;
    to.give(in(node), to.add("Pad", {g}, {onnx::MakeAttribute("pads", back)}));
    return;
  }
  if (node.input_size() < 2) to.fail(Code::kUnsupported, "the derivative of a Pad needs opset 2");
  Names inputs = {g, to.add("Neg", {in(node, 1)})};
  if (node.input_size() > 3) inputs.insert(inputs.end(), {"", in(node, 3)});
  to.give(in(node), to.add("Pad", inputs));
}

void resize(To& to, const NodeProto& node, const Name& g) {
  const bool is_nearest = text_of(node, "mode", "nearest") == "nearest";
  // tf_crop_and_resize has outputs outside of the input, to which no element contributes.
  const bool may_leave =
      text_of(node, "coordinate_transformation_mode", "") == "tf_crop_and_resize";
  is_nearest && !may_leave ? moved(to, node, g) : resize_between(to, node, g);
}

void cumulative_sum(To& to, const NodeProto& node, const Name& g) {
  to.give(in(node), to.add("CumSum", {g, in(node, 1)},
                           {onnx::MakeAttribute("exclusive", int_of(node, "exclusive", 0)),
                            onnx::MakeAttribute("reverse", 1 - int_of(node, "reverse", 0))}));
}

void triangle(To& to, const NodeProto& node, const Name& g) {
  Names inputs = {g};
  if (node.input_size() > 1) inputs.push_back(in(node, 1));
  to.give(in(node),
          to.add("Trilu", inputs, {onnx::MakeAttribute("upper", int_of(node, "upper", 1))}));
}

}  // namespace

Name sliced(To& to, const Name& value, int axis, int64_t begin, int64_t end) {
  return to.add("Slice", {value, to.list({begin}), to.list({end}), to.list({axis})});
}

Name scattered(To& to, const Name& like, const Name& indices, const Name& part) {
  const auto flat = [&](const Name& value) { return to.add("Reshape", {value, to.list({-1})}); };
  const Name sum = to.add("ScatterElements", {flat(to.zeros_like(like)), flat(indices), flat(part)},
                          {onnx::MakeAttribute("axis", int64_t{0}), adds()});
  return to.reshaped(sum, like);
}

const std::map<std::string, Rule>& movement_rules() {
  static const std::map<std::string, Rule> kRules = {
      {"Compress", moved},
      {"Concat", concat},
      {"CumSum", cumulative_sum},
      {"DepthToSpace", moved},
      {"Expand", expand},
      {"Flatten", reshape},
      {"Gather", gather},
      {"GatherElements", gather_elements},
      {"GatherND", moved},
      {"Pad", pad},
      {"Reshape", reshape},
      {"Resize", resize},
      {"ReverseSequence", moved},
      {"ScatterElements", scatter},
      {"ScatterND", scatter},
      {"Slice", moved},
      {"SpaceToDepth", moved},
      {"Split", split},
      {"Squeeze", reshape},
      {"Tile", moved},
      {"TopK", top},
      {"Transpose", transpose},
      {"Trilu", triangle},
      {"Unsqueeze", reshape},
  };
  return kRules;
}

}  // namespace gantry
