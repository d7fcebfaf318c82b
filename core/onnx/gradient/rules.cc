// SPDX-License-Identifier: Apache-2.0
#include "onnx/gradient/rules.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gantry {
namespace {

using To = Backward;
using onnx::NodeProto;
using Name = std::string;

/// The same reduction of another input, with keepdims = 1.
Name reduced_again(To& to, const NodeProto& node, const char* op_type, const Name& x) {
  Attributes attributes = {onnx::MakeAttribute("keepdims", int64_t{1})};
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != "keepdims") attributes.push_back(attribute);
  }
  Names inputs = {x};
  for (int i = 1; i < node.input_size(); ++i) inputs.push_back(in(node, i));
  return to.add(op_type, inputs, attributes);
}
/// A value of the output's shape, with the reduced axes inserted as extent 1.
Name with_axes(To& to, const NodeProto& node, const Name& value) {
  if (int_of(node, "keepdims", 1) == 1) return value;
  const Name like = reduced_again(to, node, node.op_type().c_str(), in(node));
  return to.add("Reshape", {value, to.add("Shape", {like})});
}

/// Number of input elements per output element, with the reduced axes as extent 1.
Name folded_count(To& to, const NodeProto& node) {
  const Name ones = to.ones_like(in(node));
  // From opset 13 to 17 ReduceSum has its axes as an input, other reductions as an attribute.
  if (const onnx::AttributeProto* axes = find_attribute(node, "axes"))
    return to.sum_over(ones, {axes->ints().begin(), axes->ints().end()});
  return reduced_again(to, node, "ReduceSum", ones);
}

/// ReduceSum and the reductions based on it: the derivative is `g` times a factor per element.
void reduce(To& to, const NodeProto& node, const Name& g) {
  const Name& x = in(node);
  const std::string& op_type = node.op_type();
  const Name spread = with_axes(to, node, g);
  const auto y = [&] { return with_axes(to, node, out(node)); };
  if (op_type == "ReduceSum") return to.give(x, to.product(to.ones_like(x), spread));
  if (op_type == "ReduceMean") {
    const Name all = to.product(to.ones_like(x), spread);
    return to.give(x, to.add("Div", {all, folded_count(to, node)}));
  }
  if (op_type == "ReduceSumSquare") return to.give(x, to.product(to.scaled(x, 2), spread));
  if (op_type == "ReduceL1") return to.give(x, to.product(to.add("Sign", {x}), spread));
  if (op_type == "ReduceL2") return to.give(x, to.product(x, to.add("Div", {spread, y()})));
  if (op_type == "ReduceLogSumExp")
    return to.give(x, to.product(to.add("Exp", {to.add("Sub", {x, y()})}), spread));
  if (op_type == "ReduceLogSum")
    return to.give(x, to.product(to.ones_like(x), to.add("Div", {spread, to.add("Exp", {y()})})));
  // ReduceMax, ReduceMin: each of several equal elements gets the derivative.
  const Name all = to.product(to.ones_like(x), spread);
  to.give(x, to.where(to.add("Equal", {x, y()}), all));
}

/// The sum over the axes that Softmax normalizes: one axis, or before opset 13 all from it on.
Name softmax_sum(To& to, const NodeProto& node, const Name& value) {
  if (to.opset() >= 13) return to.sum_over(value, {int_of(node, "axis", -1)});
  const int rank = to.rank_of(in(node));
  const int first = axis_of(node, rank, 1);
  std::vector<int64_t> axes(static_cast<size_t>(std::max(rank - first, 0)));
  std::iota(axes.begin(), axes.end(), first);
  return axes.empty() ? value : to.sum_over(value, axes);
}

void softmax(To& to, const NodeProto& node, const Name& g) {
  const Name weighted = to.product(g, out(node));
  const Name sum = softmax_sum(to, node, weighted);
  to.give(in(node), to.add("Sub", {weighted, to.product(out(node), sum)}));
}

void log_softmax(To& to, const NodeProto& node, const Name& g) {
  const Name sum = softmax_sum(to, node, g);
  to.give(in(node), to.add("Sub", {g, to.product(to.add("Exp", {out(node)}), sum)}));
}

/// Dropped elements have derivative 0. Other elements have the scale of training mode, else 1.
void dropout(To& to, const NodeProto& node, const Name& g) {
  const bool may_train = node.input_size() > 2 && !in(node, 2).empty();
  if (!may_train) return to.give(in(node), g);
  to.refuse_from(node, 1);
  const bool has_ratio = !in(node, 1).empty();
  const Name ratio =
      has_ratio ? to.add("CastLike", {in(node, 1), in(node)}) : to.number(in(node), 0.5);
  const Name kept = to.add("Sub", {to.number(in(node), 1), ratio});
  const Name part = to.where(to.mask_of(node), to.add("Div", {g, kept}));
  to.give(in(node), to.add("Where", {in(node, 2), part, g}));
}

}  // namespace

const std::map<std::string, Rule>& reduction_rules() {
  static const std::map<std::string, Rule> kRules = {
      {"Dropout", dropout},  {"LogSoftmax", log_softmax}, {"ReduceL1", reduce},
      {"ReduceL2", reduce},  {"ReduceLogSum", reduce},    {"ReduceLogSumExp", reduce},
      {"ReduceMax", reduce}, {"ReduceMean", reduce},      {"ReduceMin", reduce},
      {"ReduceSum", reduce}, {"ReduceSumSquare", reduce}, {"Softmax", softmax},
  };
  return kRules;
}

Rule find_rule(const std::string& op_type) {
  for (const auto* rules : {&elementwise_rules(), &movement_rules(), &norm_rules(),
                            &product_rules(), &reduction_rules(), &window_rules()}) {
    const auto found = rules->find(op_type);
    if (found != rules->end()) return found->second;
  }
  return nullptr;
}

}  // namespace gantry
