// SPDX-License-Identifier: Apache-2.0
// Derivatives of products (MatMul, Gemm, Einsum, ReduceProd): by a factor, the product of the other
// factors with `g`.
#include <algorithm>
#include <cstddef>

#include "onnx/gradient/rules.h"

namespace gantry {
namespace {

using To = Backward;
using onnx::NodeProto;
using Name = std::string;

/// A vector operand is a row on the left or a column on the right, whose axis the result lacks.
void matmul(To& to, const NodeProto& node, const Name& g) {
  const Name& a = in(node);
  const Name& b = in(node, 1);
  const int ranks[] = {to.rank_of(a), to.rank_of(b)};
  const bool is_row = ranks[0] == 1;
  const bool is_column = ranks[1] == 1;
  const Name left = is_row ? unsqueezed(to, a, {0}) : a;
  const Name right = is_column ? unsqueezed(to, b, {1}) : b;
  Name whole = is_column ? unsqueezed(to, g, {std::max(ranks[0] - 1, 0)}) : g;
  if (is_row) whole = unsqueezed(to, whole, {is_column ? 0 : std::max(ranks[1] - 2, 0)});
  const auto give = [&](const Name& name, const Name& part, bool is_vector, int other_rank) {
    if (!is_vector && (is_row || is_column)) return to.give(name, part);
    if (!is_vector) return to.give(name, out(node), part, 2);  // has the output's batch axes
    std::vector<int64_t> batch;
    batch.reserve(static_cast<size_t>(std::max(other_rank - 2, 0)));
    for (int axis = 0; axis < other_rank - 2; ++axis) batch.push_back(axis);
    to.give(name, to.reshaped(batch.empty() ? part : to.sum_over(part, batch), name));
  };
  if (to.wants(a)) {
    give(a, to.add("MatMul", {whole, to.transposed(right, is_column ? 2 : ranks[1])}), is_row,
         ranks[1]);
  }
  if (to.wants(b)) {
    give(b, to.add("MatMul", {to.transposed(left, is_row ? 2 : ranks[0]), whole}), is_column,
         ranks[0]);
  }
}

void gemm(To& to, const NodeProto& node, const Name& g) {
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

/// The letters of an equation: a term for each input, then the output's.
std::vector<std::string> terms_of(const To& to, const NodeProto& node) {
  std::string equation = text_of(node, "equation", "");
  std::erase(equation, ' ');
  std::vector<std::string> terms(1);
  std::string once;
  bool has_output = false;
  for (size_t i = 0; i < equation.size(); ++i) {
    const char letter = equation[i];
    has_output = has_output || letter == '-';
    if (letter == ',' || letter == '-') terms.emplace_back();
    if (letter == ',' || letter == '-' || letter == '>') continue;
    terms.back() += letter;
    if (std::count(equation.begin(), equation.end(), letter) == 1) once += letter;
  }
  if (!has_output) {
    std::sort(once.begin(), once.end());
    terms.push_back(once);
  }
  for (const std::string& term : terms) {
    const bool repeats = std::any_of(term.begin(), term.end(), [&](char letter) {
      return letter == '.' || std::count(term.begin(), term.end(), letter) > 1;
    });
    if (repeats) {
      to.fail(Code::kUnsupported, "the derivative of an Einsum \"" + equation +
                                      "\", with \"...\" or a diagonal, has no rule");
    }
  }
  if (terms.size() != static_cast<size_t>(node.input_size()) + 1)
    to.fail(Code::kInvalidModel, "an Einsum \"" + equation + "\" has another number of inputs");
  return terms;
}

/// The derivative by one operand is an Einsum of `g` and the other operands. Letters of the operand
/// that occur nowhere else were summed, and are broadcast.
void einsum(To& to, const NodeProto& node, const Name& g) {
  const std::vector<std::string> terms = terms_of(to, node);
  for (size_t own = 0; own + 1 < terms.size(); ++own) {
    const Name& factor = in(node, static_cast<int>(own));
    if (!to.wants(factor)) continue;
    Names inputs = {g};
    std::string equation = terms.back();
    for (size_t other = 0; other + 1 < terms.size(); ++other) {
      if (other == own) continue;
      inputs.push_back(in(node, static_cast<int>(other)));
      equation += "," + terms[other];
    }
    std::string made;
    std::vector<int64_t> summed;
    for (size_t i = 0; i < terms[own].size(); ++i) {
      const bool is_there = equation.find(terms[own][i]) != std::string::npos;
      if (is_there) made += terms[own][i];
      if (!is_there) summed.push_back(static_cast<int64_t>(i));
    }
    equation.append("->").append(made);
    const Name part = to.add("Einsum", inputs, {onnx::MakeAttribute("equation", equation)});
    to.give(factor,
            summed.empty() ? part : to.product(to.ones_like(factor), unsqueezed(to, part, summed)));
  }
}

/// The product of all other elements along the last axis: of those before times those after. There
/// is no division, so zeros are right, also in second derivatives.
Name product_of_others(To& to, const Name& x, int rank, int64_t extent) {
  // Shifted along the axis by `by` elements, filled with ones.
  const auto shifted = [&](const Name& value, int64_t by) {
    std::vector<int64_t> widths(2 * static_cast<size_t>(rank), 0);
    widths[static_cast<size_t>(rank - 1)] = by;
    widths.back() = -by;
    return to.add("Pad", {value, to.list(widths), to.number(value, 1)});
  };
  const auto up_to_each = [&](int64_t direction) {
    Name all = shifted(x, direction);
    for (int64_t by = 1; by < extent; by *= 2) all = to.product(all, shifted(all, by * direction));
    return all;
  };
  return to.product(up_to_each(1), up_to_each(-1));
}

/// The reduced axes, of an attribute or a constant input, or all; from 0 to rank - 1, ascending.
std::vector<int64_t> reduced_axes(const To& to, const NodeProto& node, int rank) {
  std::vector<int64_t> axes = ints_of(node, "axes", 0, 0);
  if (node.input_size() > 1 && !in(node, 1).empty()) {
    const auto given = to.constant(in(node, 1));
    if (!given)
      to.fail(Code::kUnsupported, "the derivative of " + node.op_type() + " needs constant axes");
    for (const double axis : *given) axes.push_back(static_cast<int64_t>(axis));
  }
  if (axes.empty() && int_of(node, "noop_with_empty_axes", 0) == 0) {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

void reduce_product(To& to, const NodeProto& node, const Name& g) {
  const Name& x = in(node);
  const std::vector<int64_t> extents = to.extents_of(x);
  const std::vector<int64_t> axes = reduced_axes(to, node, static_cast<int>(extents.size()));
  if (axes.empty()) return to.give(x, g);
  if (to.opset() < 11) to.fail(Code::kUnsupported, "the derivative of a ReduceProd needs opset 11");
  // The reduced axes are flattened to one, the last.
  std::vector<int64_t> order;
  for (int64_t axis = 0; axis < static_cast<int64_t>(extents.size()); ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), axis)) order.push_back(axis);
  }
  std::vector<int64_t> flat(order.size(), 0);  // 0: copied by Reshape
  flat.push_back(1);
  for (const int64_t axis : axes) {
    const int64_t extent = extents.at(static_cast<size_t>(axis));
    if (extent < 0)
      to.fail(Code::kUnsupported, "the derivative of a ReduceProd needs the extents of its axes");
    flat.back() *= extent;
    order.push_back(axis);
  }
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  const Name transposed = to.add("Transpose", {x}, {onnx::MakeAttribute("perm", order)});
  const Name others = product_of_others(to, to.add("Reshape", {transposed, to.list(flat)}),
                                        static_cast<int>(flat.size()), flat.back());
  const Name slope =
      to.add("Transpose", {to.reshaped(others, transposed)}, {onnx::MakeAttribute("perm", back)});
  const bool keeps = int_of(node, "keepdims", 1) == 1;
  to.give(x, to.product(slope, keeps ? g : unsqueezed(to, g, axes)));
}

}  // namespace

Name unsqueezed(To& to, const Name& value, const std::vector<int64_t>& axes) {
  if (to.opset() < 13) return to.add("Unsqueeze", {value}, {onnx::MakeAttribute("axes", axes)});
  return to.add("Unsqueeze", {value, to.list(axes)});
}

const std::map<std::string, Rule>& product_rules() {
  static const std::map<std::string, Rule> kRules = {
      {"Einsum", einsum}, {"Gemm", gemm}, {"MatMul", matmul}, {"ReduceProd", reduce_product}};
  return kRules;
}

}  // namespace gantry
