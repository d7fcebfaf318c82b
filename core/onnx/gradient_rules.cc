// SPDX-License-Identifier: Apache-2.0
#include "onnx/gradient_rules.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gantry {
namespace {

using To = Backward;
using Node = onnx::NodeProto;
using Name = std::string;

int axis_of(const Node& node, int rank, int64_t fallback) {
  const int64_t axis = int_of(node, "axis", fallback);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void matmul(To& to, const Node& node, const Name& g) {
  const int ranks[] = {to.rank_of(in(node)), to.rank_of(in(node, 1))};
  if (ranks[0] < 2 || ranks[1] < 2)
    to.fail(Code::kUnsupported, "the derivative of a MatMul with a vector has no rule");
  // The products have the batch axes of the output.
  if (to.wants(in(node)))
    to.give(in(node), out(node), to.add("MatMul", {g, to.transposed(in(node, 1), ranks[1])}), 2);
  if (to.wants(in(node, 1)))
    to.give(in(node, 1), out(node), to.add("MatMul", {to.transposed(in(node), ranks[0]), g}), 2);
}

void gemm(To& to, const Node& node, const Name& g) {
  const bool ta = int_of(node, "transA", 0) != 0;
  const bool tb = int_of(node, "transB", 0) != 0;
  const float alpha = float_of(node, "alpha", 1.0F);
  const auto product = [&](const Name& a, bool transposes_a, const Name& b, bool transposes_b) {
    return to.add("Gemm", {a, b},
                  {onnx::MakeAttribute("transA", int64_t{transposes_a}),
                   onnx::MakeAttribute("transB", int64_t{transposes_b}),
                   onnx::MakeAttribute("alpha", alpha)});
  };
  if (to.opset() < 11) to.fail(Code::kUnsupported, "the derivative of a Gemm needs opset 11");
  const Name& a = in(node);
  const Name& b = in(node, 1);
  if (to.wants(a)) to.give(a, ta ? product(b, tb, g, true) : product(g, false, b, !tb));
  if (to.wants(b)) to.give(b, tb ? product(g, true, a, ta) : product(a, !ta, g, false));
  if (node.input_size() < 3 || !to.wants(in(node, 2))) return;
  const auto beta = static_cast<double>(float_of(node, "beta", 1.0F));
  to.give(in(node, 2), out(node), beta == 1 ? g : to.scaled(g, beta));
}

void transpose(To& to, const Node& node, const Name& g) {
  const int rank = to.rank_of(in(node));
  std::vector<int64_t> inverse(static_cast<size_t>(rank));
  const onnx::AttributeProto* order = find_attribute(node, "perm");
  for (int i = 0; i < rank; ++i) {
    const int64_t from = order ? order->ints(i) : rank - 1 - i;
    inverse[static_cast<size_t>(from)] = i;
  }
  to.give(in(node), to.add("Transpose", {g}, {onnx::MakeAttribute("perm", inverse)}));
}

void reshape(To& to, const Node& node, const Name& g) {
  to.give(in(node), to.reshaped(g, in(node)));
}

/// The node once more, on another input, with its axes kept.
Name reduced_again(To& to, const Node& node, const char* op_type, const Name& x) {
  Attributes attributes = {onnx::MakeAttribute("keepdims", int64_t{1})};
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != "keepdims") attributes.push_back(attribute);
  }
  Names inputs = {x};
  for (int i = 1; i < node.input_size(); ++i) inputs.push_back(in(node, i));
  return to.add(op_type, inputs, attributes);
}
/// A value of the output's shape, with the reduced axes back in it.
Name with_axes(To& to, const Node& node, const Name& value) {
  if (int_of(node, "keepdims", 1) != 0) return value;
  const Name like = reduced_again(to, node, node.op_type().c_str(), in(node));
  return to.add("Reshape", {value, to.add("Shape", {like})});
}

/// How many elements became each of the output's, with the axes kept.
Name folded_count(To& to, const Node& node) {
  const Name ones = to.ones_like(in(node));
  // From opset 13 to 17 sums read their axes from an input and the others from an attribute.
  if (const onnx::AttributeProto* axes = find_attribute(node, "axes"))
    return to.sum_over(ones, {axes->ints().begin(), axes->ints().end()});
  return reduced_again(to, node, "ReduceSum", ones);
}

/// Sums and what is made of them: the derivative is the same for all elements, but for a factor.
void reduce(To& to, const Node& node, const Name& g) {
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
  // ReduceMax, ReduceMin: of equals each has the derivative.
  const Name all = to.product(to.ones_like(x), spread);
  to.give(x, to.where(to.add("Equal", {x, y()}), all));
}

void softmax(To& to, const Node& node, const Name& g) {
  if (to.opset() < 13) to.fail(Code::kUnsupported, "the derivative of a Softmax needs opset 13");
  const Name weighted = to.product(g, out(node));
  const Name sum = to.sum_over(weighted, {int_of(node, "axis", -1)});
  to.give(in(node), to.add("Sub", {weighted, to.product(out(node), sum)}));
}

void log_softmax(To& to, const Node& node, const Name& g) {
  if (to.opset() < 13) to.fail(Code::kUnsupported, "the derivative of a LogSoftmax needs opset 13");
  const Name sum = to.sum_over(g, {int_of(node, "axis", -1)});
  to.give(in(node), to.add("Sub", {g, to.product(to.add("Exp", {out(node)}), sum)}));
}

Name slice(To& to, const Name& value, int axis, int64_t begin, int64_t end) {
  return to.add("Slice", {value, to.list({begin}), to.list({end}), to.list({axis})});
}

void concat(To& to, const Node& node, const Name& g) {
  if (to.opset() < 10) to.fail(Code::kUnsupported, "the derivative of a Concat needs opset 10");
  const int axis = axis_of(node, to.rank_of(out(node)), 0);
  int64_t begin = 0;
  for (const Name& input : node.input()) {
    const int64_t extent = to.known_extents(input, "Concat")[static_cast<size_t>(axis)];
    if (to.wants(input)) to.give(input, slice(to, g, axis, begin, begin + extent));
    begin += extent;
  }
}

void split(To& to, const Node& node, const Name& /*g*/) {
  Names parts;
  for (const Name& output : node.output()) parts.push_back(to.derivative(output));
  const int64_t axis = int_of(node, "axis", 0);
  to.give(in(node), to.add("Concat", parts, {onnx::MakeAttribute("axis", axis)}));
}

/// Rows that are gathered more than once get the sum.
void gather(To& to, const Node& node, const Name& g) {
  const int rank = to.rank_of(in(node));
  if (to.opset() < 16 || axis_of(node, rank, 0) != 0) {
    to.fail(Code::kUnsupported,
            "the derivative of a Gather needs opset 16, and axis 0: others have no rule");
  }
  const Name places = to.add("Unsqueeze", {in(node, 1), to.list({-1})});
  const Name zeros = to.add("Expand", {to.number(in(node), 0), to.shape_of(in(node))});
  to.give(in(node), to.add("ScatterND", {zeros, places, g},
                           {onnx::MakeAttribute("reduction", std::string("add"))}));
}

void expand(To& to, const Node& node, const Name& g) { to.give(in(node), out(node), g); }

/// With e the normalized x and d = g scale: (d - mean(d) - e mean(d e)) / deviation.
void layer_norm(To& to, const Node& node, const Name& g) {
  for (int i = 1; i < node.output_size(); ++i) {
    if (to.has(node.output(i))) {
      to.fail(Code::kUnsupported,
              "the derivative of a LayerNormalization's statistics has no rule");
    }
  }
  const Name& x = in(node);
  const int rank = to.rank_of(x);
  std::vector<int64_t> axes(static_cast<size_t>(rank - axis_of(node, rank, -1)));
  std::iota(axes.begin(), axes.end(), axis_of(node, rank, -1));
  const std::vector<int64_t> extents = to.known_extents(x, "LayerNormalization");
  double count = 1;
  for (const int64_t axis : axes) count *= static_cast<double>(extents[static_cast<size_t>(axis)]);
  const auto mean = [&](const Name& value) {
    return to.scaled(to.sum_over(value, axes), 1 / count);
  };
  const Name centered = to.add("Sub", {x, mean(x)});
  const Name variance = mean(to.product(centered, centered));
  const auto epsilon = static_cast<double>(float_of(node, "epsilon", 1e-5F));
  const Name deviation = to.add("Sqrt", {to.add("Add", {variance, to.number(x, epsilon)})});
  const Name normal = to.add("Div", {centered, deviation});
  if (to.wants(x)) {
    const Name d = to.product(g, in(node, 1));
    const Name rest = to.add(
        "Sub", {to.add("Sub", {d, mean(d)}), to.product(normal, mean(to.product(d, normal)))});
    to.give(x, to.add("Div", {rest, deviation}));
  }
  if (to.wants(in(node, 1))) to.give(in(node, 1), out(node), to.product(g, normal));
  if (node.input_size() > 2 && !in(node, 2).empty()) to.give(in(node, 2), out(node), g);
}

std::vector<int64_t> ints_or(const Node& node, const char* name, size_t count, int64_t fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  if (!attribute) return std::vector<int64_t>(count, fallback);
  return {attribute->ints().begin(), attribute->ints().end()};
}

Name swapped(To& to, const Name& value, int rank) {
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  return to.add("Transpose", {value}, {onnx::MakeAttribute("perm", order)});
}

/// By the input it is the transposed convolution of g; by the weights, the convolution of the input
/// with g where samples and channels change places, and strides and dilations too.
void conv(To& to, const Node& node, const Name& g) {
  const Name& x = in(node);
  const Name& w = in(node, 1);
  const std::vector<int64_t> image = to.known_extents(x, "Conv");
  const std::vector<int64_t> kernel = to.known_extents(w, "Conv");
  const std::vector<int64_t> output = to.known_extents(out(node), "Conv");
  const size_t axes = image.size() - 2;
  const onnx::AttributeProto* automatic = find_attribute(node, "auto_pad");
  if (int_of(node, "group", 1) != 1 || (automatic && automatic->s() != "NOTSET")) {
    to.fail(Code::kUnsupported,
            "the derivative of a Conv in groups, or with auto_pad, has no rule");
  }
  const std::vector<int64_t> strides = ints_or(node, "strides", axes, 1);
  const std::vector<int64_t> dilations = ints_or(node, "dilations", axes, 1);
  const std::vector<int64_t> pads = ints_or(node, "pads", 2 * axes, 0);
  if (to.wants(x)) {
    // What the windows left over at the end gets zeros.
    std::vector<int64_t> rest(axes);
    for (size_t i = 0; i < axes; ++i) {
      const int64_t reach =
          (output[i + 2] - 1) * strides[i] + (kernel[i + 2] - 1) * dilations[i] + 1;
      rest[i] = image[i + 2] + pads[i] + pads[i + axes] - reach;
    }
    to.give(x,
            to.add("ConvTranspose", {g, w},
                   {onnx::MakeAttribute("strides", strides),
                    onnx::MakeAttribute("dilations", dilations), onnx::MakeAttribute("pads", pads),
                    onnx::MakeAttribute("output_padding", rest)}));
  }
  if (to.wants(w)) {
    const int rank = static_cast<int>(image.size());
    Name whole =
        to.add("Conv", {swapped(to, x, rank), swapped(to, g, rank)},
               {onnx::MakeAttribute("strides", dilations),
                onnx::MakeAttribute("dilations", strides), onnx::MakeAttribute("pads", pads)});
    for (int axis = 2; axis < rank; ++axis)
      whole = slice(to, whole, axis, 0, kernel[static_cast<size_t>(axis)]);
    to.give(w, swapped(to, whole, rank));
  }
  if (node.input_size() > 2 && to.wants(in(node, 2))) {
    std::vector<int64_t> others = {0};
    for (size_t i = 2; i < image.size(); ++i) others.push_back(static_cast<int64_t>(i));
    to.give(in(node, 2), to.reshaped(to.sum_over(g, others), in(node, 2)));
  }
}

/// The transposed one by its input: the convolution of g.
void conv_transpose(To& to, const Node& node, const Name& g) {
  to.refuse_from(node, 1);
  Attributes attributes;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "auto_pad" || attribute.name() == "output_shape") {
      to.fail(Code::kUnsupported,
              "the derivative of a ConvTranspose with " + attribute.name() + " has no rule");
    }
    if (attribute.name() != "output_padding") attributes.push_back(attribute);
  }
  to.give(in(node), to.add("Conv", {g, in(node, 1)}, attributes));
}

void global_average(To& to, const Node& node, const Name& g) {
  const std::vector<int64_t> extents = to.known_extents(in(node), "GlobalAveragePool");
  double count = 1;
  for (size_t i = 2; i < extents.size(); ++i) count *= static_cast<double>(extents[i]);
  to.give(in(node), to.product(to.ones_like(in(node)), to.scaled(g, 1 / count)));
}

}  // namespace

const std::map<std::string, Rule>& tensor_rules() {
  static const std::map<std::string, Rule> kRules = {
      {"Concat", concat},
      {"Conv", conv},
      {"ConvTranspose", conv_transpose},
      {"Expand", expand},
      {"Flatten", reshape},
      {"Gather", gather},
      {"Gemm", gemm},
      {"GlobalAveragePool", global_average},
      {"LayerNormalization", layer_norm},
      {"LogSoftmax", log_softmax},
      {"MatMul", matmul},
      {"ReduceL1", reduce},
      {"ReduceL2", reduce},
      {"ReduceLogSumExp", reduce},
      {"ReduceMax", reduce},
      {"ReduceMean", reduce},
      {"ReduceMin", reduce},
      {"ReduceSum", reduce},
      {"ReduceSumSquare", reduce},
      {"Reshape", reshape},
      {"Softmax", softmax},
      {"Split", split},
      {"Squeeze", reshape},
      {"Transpose", transpose},
      {"Unsqueeze", reshape},
  };
  return kRules;
}

Rule find_rule(const std::string& op_type) {
  for (const auto* rules : {&elementwise_rules(), &tensor_rules()}) {
    const auto found = rules->find(op_type);
    if (found != rules->end()) return found->second;
  }
  return nullptr;
}

}  // namespace gantry
