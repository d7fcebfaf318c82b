// SPDX-License-Identifier: Apache-2.0
#include "onnx/gradient.h"

#include <gantry/error.h>

#include <algorithm>
#include <map>
#include <onnx/defs/attr_proto_util.h>
#include <set>
#include <utility>
#include <vector>

namespace gantry {
namespace {

constexpr char kDomain[] = "ai.onnx.preview.training";

using Names = std::vector<std::string>;

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, const char* name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}
int64_t int_of(const onnx::NodeProto& node, const char* name, int64_t fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute ? attribute->i() : fallback;
}
float float_of(const onnx::NodeProto& node, const char* name, float fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute ? attribute->f() : fallback;
}

/// The function under construction: the nodes that compute the target, then those of the
/// derivatives.
class Backward {
 public:
  Backward(const onnx::NodeProto& gradient, const ValueTypes& types, int opset)
      : gradient_(gradient), types_(types), opset_(opset) {}

  onnx::FunctionProto body;

  [[noreturn]] void fail(Code code, const std::string& what) const {
    throw Error(code, "Gradient \"" + gradient_.name() + "\": " + what);
  }

  /// Marks what depends on the variables.
  void follow(const onnx::NodeProto& node) {
    for (const std::string& input : node.input()) {
      if (!depends_.contains(input)) continue;
      for (const std::string& output : node.output()) depends_.insert(output);
      return;
    }
  }
  void depend(const std::string& name) { depends_.insert(name); }

  /// Adds a node; its one output.
  std::string add(const char* op_type, const Names& inputs,
                  const std::vector<onnx::AttributeProto>& attributes = {}) {
    onnx::NodeProto& node = *body.add_node();
    node.set_op_type(op_type);
    for (const std::string& input : inputs) node.add_input(input);
    for (const onnx::AttributeProto& attribute : attributes) *node.add_attribute() = attribute;
    std::string name = "gantry.gradient." + std::to_string(count_++);
    node.set_name(name);
    node.add_output(name);
    return name;
  }
  std::string shape_of(const std::string& name) { return add("Shape", {name}); }
  std::string reshaped(const std::string& value, const std::string& like) {
    return add("Reshape", {value, shape_of(like)});
  }
  /// A tensor of the shape and type of `like`, all elements 1.
  std::string ones_like(const std::string& like) {
    onnx::TensorProto one;
    one.set_data_type(tensor_type(like).elem_type());
    one.add_dims(1);
    if (one.data_type() == onnx::TensorProto::DOUBLE) {
      one.add_double_data(1);
    } else if (one.data_type() == onnx::TensorProto::FLOAT16) {
      one.add_int32_data(0x3C00);
    } else if (one.data_type() == onnx::TensorProto::FLOAT) {
      one.add_float_data(1);
    } else {
      fail(Code::kUnsupported, "\"" + like + "\" is no tensor of floats");
    }
    return add("ConstantOfShape", {shape_of(like)}, {onnx::MakeAttribute("value", one)});
  }
  std::string sum_over(const std::string& value, const std::vector<int64_t>& axes) {
    const onnx::AttributeProto keep = onnx::MakeAttribute("keepdims", int64_t{1});
    if (opset_ < 13) return add("ReduceSum", {value}, {onnx::MakeAttribute("axes", axes), keep});
    onnx::TensorProto list;
    list.set_data_type(onnx::TensorProto::INT64);
    list.add_dims(static_cast<int64_t>(axes.size()));
    for (const int64_t axis : axes) list.add_int64_data(axis);
    return add("ReduceSum", {value, add("Constant", {}, {onnx::MakeAttribute("value", list)})},
               {keep});
  }
  std::string transposed(const std::string& value, int rank) {
    std::vector<int64_t> order(static_cast<size_t>(rank));
    for (int i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = i;
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return add("Transpose", {value}, {onnx::MakeAttribute("perm", order)});
  }

  [[nodiscard]] int rank_of(const std::string& name) const {
    const onnx::TypeProto::Tensor& type = tensor_type(name);
    if (!type.has_shape()) fail(Code::kUnsupported, "the rank of \"" + name + "\" is not known");
    return type.shape().dim_size();
  }

  /// One more part of the derivative of the target by `name`, of the shape of `like`, to which
  /// `name` was broadcast; but for the last `own_axes` axes, in which it has the shape of `name`.
  void give(const std::string& name, const std::string& like, const std::string& part,
            int own_axes = 0) {
    if (depends_.contains(name)) parts_[name].push_back(narrowed(name, like, part, own_axes));
  }
  void give(const std::string& name, const std::string& part) {
    if (depends_.contains(name)) parts_[name].push_back(part);
  }
  [[nodiscard]] bool wants(const std::string& name) const { return depends_.contains(name); }
  [[nodiscard]] bool has(const std::string& name) const { return parts_.contains(name); }
  /// The sum of the parts given so far; zeros if there are none.
  std::string derivative(const std::string& name) {
    Names& parts = parts_[name];
    if (parts.empty()) {
      const std::string ones = ones_like(name);
      parts.push_back(add("Sub", {ones, ones}));
    }
    while (parts.size() > 1) {
      const std::string sum = add("Add", {parts[parts.size() - 2], parts.back()});
      parts.pop_back();
      parts.back() = sum;
    }
    return parts.front();
  }

  [[nodiscard]] int opset() const { return opset_; }

 private:
  [[nodiscard]] const onnx::TypeProto::Tensor& tensor_type(const std::string& name) const {
    const auto found = types_.find(name);
    if (found == types_.end() || !found->second->has_tensor_type()) {
      fail(Code::kUnsupported, "the type of \"" + name + "\" is not known");
    }
    return found->second->tensor_type();
  }

  /// Undoes broadcasting: sums over the axes along which `name` was repeated.
  std::string narrowed(const std::string& name, const std::string& like, const std::string& part,
                       int own_axes) {
    const int wide = rank_of(like);
    const int missing = wide - rank_of(name);
    std::vector<int64_t> axes;
    for (int i = 0; i < wide - own_axes; ++i) {
      if (i < missing) {
        axes.push_back(i);
        continue;
      }
      const auto& own = tensor_type(name).shape().dim(i - missing);
      const auto& other = tensor_type(like).shape().dim(i);
      const bool is_same = own.has_dim_value() ? own.dim_value() == other.dim_value()
                                               : own.has_dim_param() && other.has_dim_param() &&
                                                     own.dim_param() == other.dim_param();
      if (is_same) continue;
      if (!own.has_dim_value() || !other.has_dim_value()) {
        std::string what = "whether \"";
        what.append(name).append("\" is broadcast to the shape of \"").append(like);
        fail(Code::kUnsupported, what.append("\" is not known before the run"));
      }
      axes.push_back(i);
    }
    if (axes.empty()) return part;
    const std::string sum = sum_over(part, axes);
    return missing == 0 ? sum : reshaped(sum, name);
  }

  const onnx::NodeProto& gradient_;
  const ValueTypes& types_;
  int opset_;
  int count_ = 0;
  std::set<std::string> depends_;
  std::map<std::string, Names> parts_;
};

/// Gives to the inputs of a node their parts, from the derivative `g` by its output.
using Rule = void (*)(Backward& to, const onnx::NodeProto& node, const std::string& g);

const std::string& in(const onnx::NodeProto& node, int i = 0) { return node.input(i); }
const std::string& out(const onnx::NodeProto& node) { return node.output(0); }

void matmul(Backward& to, const onnx::NodeProto& node, const std::string& g) {
  const int ranks[] = {to.rank_of(in(node)), to.rank_of(in(node, 1))};
  if (ranks[0] < 2 || ranks[1] < 2) {
    to.fail(Code::kUnsupported, "the derivative of a MatMul with a vector has no rule");
  }
  // The products have the batch axes of the output.
  if (to.wants(in(node))) {
    to.give(in(node), out(node), to.add("MatMul", {g, to.transposed(in(node, 1), ranks[1])}), 2);
  }
  if (to.wants(in(node, 1))) {
    to.give(in(node, 1), out(node), to.add("MatMul", {to.transposed(in(node), ranks[0]), g}), 2);
  }
}

void gemm(Backward& to, const onnx::NodeProto& node, const std::string& g) {
  const bool ta = int_of(node, "transA", 0) != 0;
  const bool tb = int_of(node, "transB", 0) != 0;
  const float alpha = float_of(node, "alpha", 1.0F);
  const auto product = [&](const std::string& a, bool transposes_a, const std::string& b,
                           bool transposes_b) {
    return to.add("Gemm", {a, b},
                  {onnx::MakeAttribute("transA", int64_t{transposes_a}),
                   onnx::MakeAttribute("transB", int64_t{transposes_b}),
                   onnx::MakeAttribute("alpha", alpha)});
  };
  if (to.opset() < 11) to.fail(Code::kUnsupported, "the derivative of a Gemm needs opset 11");
  const std::string& a = in(node);
  const std::string& b = in(node, 1);
  if (to.wants(a)) to.give(a, ta ? product(b, tb, g, true) : product(g, false, b, !tb));
  if (to.wants(b)) to.give(b, tb ? product(g, true, a, ta) : product(a, !ta, g, false));
  if (node.input_size() < 3 || !to.wants(in(node, 2))) return;
  if (float_of(node, "beta", 1.0F) != 1.0F) {
    to.fail(Code::kUnsupported, "the derivative of a Gemm whose beta is not 1 has no rule");
  }
  to.give(in(node, 2), out(node), g);
}

void transpose(Backward& to, const onnx::NodeProto& node, const std::string& g) {
  const int rank = to.rank_of(in(node));
  std::vector<int64_t> inverse(static_cast<size_t>(rank));
  const onnx::AttributeProto* order = find_attribute(node, "perm");
  for (int i = 0; i < rank; ++i) {
    const int64_t from = order ? order->ints(i) : rank - 1 - i;
    inverse[static_cast<size_t>(from)] = i;
  }
  to.give(in(node), to.add("Transpose", {g}, {onnx::MakeAttribute("perm", inverse)}));
}

/// Sums and means, of all axes or with the axes kept.
void reduce(Backward& to, const onnx::NodeProto& node, const std::string& g) {
  const int rank = to.rank_of(in(node));
  const bool keeps = int_of(node, "keepdims", 1) != 0;
  std::string spread = g;
  if (!keeps && to.rank_of(out(node)) != 0) {
    to.fail(Code::kUnsupported,
            "the derivative of a " + node.op_type() + " that drops some axes has no rule");
  }
  const std::string ones = to.ones_like(in(node));
  if (!keeps && rank > 0) spread = to.add("Mul", {ones, g});
  if (keeps) spread = to.add("Mul", {ones, g});
  if (node.op_type() == "ReduceMean") {
    // As many elements as ones fall together.
    std::vector<onnx::AttributeProto> same;
    for (const onnx::AttributeProto& attribute : node.attribute()) same.push_back(attribute);
    Names inputs = {ones};
    for (int i = 1; i < node.input_size(); ++i) inputs.push_back(in(node, i));
    spread = to.add("Div", {spread, to.add("ReduceSum", inputs, same)});
  }
  to.give(in(node), spread);
}

void softmax(Backward& to, const onnx::NodeProto& node, const std::string& g) {
  if (to.opset() < 13) to.fail(Code::kUnsupported, "the derivative of a Softmax needs opset 13");
  const std::string weighted = to.add("Mul", {g, out(node)});
  const std::string sum = to.sum_over(weighted, {int_of(node, "axis", -1)});
  to.give(in(node), to.add("Sub", {weighted, to.add("Mul", {out(node), sum})}));
}

void power(Backward& to, const onnx::NodeProto& node, const std::string& g) {
  const std::string& x = in(node);
  const std::string& p = in(node, 1);
  if (to.wants(x)) {
    const std::string less = to.add("Pow", {x, to.add("Sub", {p, to.ones_like(p)})});
    to.give(x, out(node), to.add("Mul", {g, to.add("Mul", {p, less})}));
  }
  if (to.wants(p)) {
    to.give(p, out(node), to.add("Mul", {g, to.add("Mul", {out(node), to.add("Log", {x})})}));
  }
}

const std::map<std::string, Rule>& rules() {
  using To = Backward;
  using Node = onnx::NodeProto;
  using Name = std::string;
  static const std::map<std::string, Rule> kRules = {
      {"Identity", [](To& to, const Node& n, const Name& g) { to.give(in(n), g); }},
      {"Neg", [](To& to, const Node& n, const Name& g) { to.give(in(n), to.add("Neg", {g})); }},
      {"Add",
       [](To& to, const Node& n, const Name& g) {
         to.give(in(n), out(n), g);
         to.give(in(n, 1), out(n), g);
       }},
      {"Sum",
       [](To& to, const Node& n, const Name& g) {
         for (const Name& input : n.input()) to.give(input, out(n), g);
       }},
      {"Sub",
       [](To& to, const Node& n, const Name& g) {
         to.give(in(n), out(n), g);
         if (to.wants(in(n, 1))) to.give(in(n, 1), out(n), to.add("Neg", {g}));
       }},
      {"Mul",
       [](To& to, const Node& n, const Name& g) {
         if (to.wants(in(n))) to.give(in(n), out(n), to.add("Mul", {g, in(n, 1)}));
         if (to.wants(in(n, 1))) to.give(in(n, 1), out(n), to.add("Mul", {g, in(n)}));
       }},
      {"Div",
       [](To& to, const Node& n, const Name& g) {
         const Name part = to.add("Div", {g, in(n, 1)});
         to.give(in(n), out(n), part);
         if (!to.wants(in(n, 1))) return;
         to.give(in(n, 1), out(n), to.add("Neg", {to.add("Mul", {part, out(n)})}));
       }},
      {"Exp",
       [](To& to, const Node& n, const Name& g) {
         to.give(in(n), to.add("Mul", {g, out(n)}));
       }},
      {"Log",
       [](To& to, const Node& n, const Name& g) {
         to.give(in(n), to.add("Div", {g, in(n)}));
       }},
      {"Sqrt",
       [](To& to, const Node& n, const Name& g) {
         to.give(in(n), to.add("Div", {g, to.add("Add", {out(n), out(n)})}));
       }},
      {"Reciprocal",
       [](To& to, const Node& n, const Name& g) {
         const Name square = to.add("Mul", {out(n), out(n)});
         to.give(in(n), to.add("Neg", {to.add("Mul", {g, square})}));
       }},
      {"Sin",
       [](To& to, const Node& n, const Name& g) {
         to.give(in(n), to.add("Mul", {g, to.add("Cos", {in(n)})}));
       }},
      {"Cos",
       [](To& to, const Node& n, const Name& g) {
         to.give(in(n), to.add("Neg", {to.add("Mul", {g, to.add("Sin", {in(n)})})}));
       }},
      {"Tanh",
       [](To& to, const Node& n, const Name& g) {
         const Name square = to.add("Mul", {out(n), out(n)});
         to.give(in(n), to.add("Sub", {g, to.add("Mul", {g, square})}));
       }},
      {"Sigmoid",
       [](To& to, const Node& n, const Name& g) {
         const Name part = to.add("Mul", {g, out(n)});
         to.give(in(n), to.add("Sub", {part, to.add("Mul", {part, out(n)})}));
       }},
      {"Softplus",
       [](To& to, const Node& n, const Name& g) {
         to.give(in(n), to.add("Mul", {g, to.add("Sigmoid", {in(n)})}));
       }},
      // The sign of what is never negative is 0 or 1.
      {"Relu",
       [](To& to, const Node& n, const Name& g) {
         to.give(in(n), to.add("Mul", {g, to.add("Sign", {out(n)})}));
       }},
      {"Abs",
       [](To& to, const Node& n, const Name& g) {
         to.give(in(n), to.add("Mul", {g, to.add("Sign", {in(n)})}));
       }},
      {"Reshape",
       [](To& to, const Node& n, const Name& g) { to.give(in(n), to.reshaped(g, in(n))); }},
      {"Flatten",
       [](To& to, const Node& n, const Name& g) { to.give(in(n), to.reshaped(g, in(n))); }},
      {"Squeeze",
       [](To& to, const Node& n, const Name& g) { to.give(in(n), to.reshaped(g, in(n))); }},
      {"Unsqueeze",
       [](To& to, const Node& n, const Name& g) { to.give(in(n), to.reshaped(g, in(n))); }},
      {"Transpose", transpose},
      {"MatMul", matmul},
      {"Gemm", gemm},
      {"Pow", power},
      {"ReduceSum", reduce},
      {"ReduceMean", reduce},
      {"Softmax", softmax},
  };
  return kRules;
}

/// The nodes between the variables and the target, in order, and what else they read.
struct Part {
  std::vector<const onnx::NodeProto*> nodes;
  std::set<std::string> read;
};
Part find_part(const onnx::GraphProto& graph, const std::string& y,
               const std::set<std::string>& variables) {
  Part part;
  std::set<std::string> wanted = {y};
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = graph.node(i);
    const bool is_wanted =
        std::any_of(node.output().begin(), node.output().end(), [&](const std::string& name) {
          return wanted.contains(name) && !variables.contains(name);
        });
    if (!is_wanted) continue;
    part.nodes.push_back(&node);
    for (const std::string& output : node.output()) wanted.erase(output);
    for (const std::string& input : node.input()) {
      if (!input.empty()) wanted.insert(input);
    }
  }
  std::reverse(part.nodes.begin(), part.nodes.end());
  for (const std::string& name : wanted) {
    if (!variables.contains(name)) part.read.insert(name);
  }
  return part;
}

}  // namespace

bool is_gradient(const FunctionCall& call) {
  return call.domain == kDomain && call.op_type == "Gradient";
}

onnx::FunctionProto gradient_body(const onnx::GraphProto& graph, onnx::NodeProto& node,
                                  const ValueTypes& types, int opset) {
  Backward to(node, types, opset);
  const onnx::AttributeProto* xs = find_attribute(node, "xs");
  const onnx::AttributeProto* zs = find_attribute(node, "zs");
  const onnx::AttributeProto* target = find_attribute(node, "y");
  if (!xs || !target || node.input_size() != xs->strings_size() + (zs ? zs->strings_size() : 0)) {
    to.fail(Code::kInvalidModel,
            "it needs the attributes xs and y, and an input for each name in "
            "xs and zs");
  }
  std::set<std::string> variables;
  for (const onnx::AttributeProto* list : {xs, zs}) {
    for (int i = 0; list && i < list->strings_size(); ++i) {
      if (!variables.insert(list->strings(i)).second) {
        to.fail(Code::kInvalidModel, "\"" + list->strings(i) + "\" is named twice");
      }
      to.body.add_input(list->strings(i));
    }
  }
  for (const std::string& x : xs->strings()) to.depend(x);
  const Part part = find_part(graph, target->s(), variables);
  for (const std::string& name : part.read) {
    to.body.add_input(name);
    node.add_input(name);
  }
  for (const onnx::NodeProto* forward : part.nodes) {
    *to.body.add_node() = *forward;
    to.follow(*forward);
  }
  if (!to.wants(target->s())) {
    to.fail(Code::kInvalidModel, "\"" + target->s() + "\" does not depend on any of xs");
  }
  to.give(target->s(), to.ones_like(target->s()));
  for (auto forward = part.nodes.rbegin(); forward != part.nodes.rend(); ++forward) {
    const onnx::NodeProto& own = **forward;
    if (!to.has(own.output(0))) continue;
    const auto rule = rules().find(own.op_type());
    if (rule == rules().end() || !own.domain().empty()) {
      to.fail(Code::kUnsupported, "the derivative of " + own.op_type() + " has no rule");
    }
    rule->second(to, own, to.derivative(own.output(0)));
  }
  for (int i = 0; i < xs->strings_size(); ++i) {
    to.body.add_output(to.add("Identity", {to.derivative(xs->strings(i))}));
  }
  node.clear_attribute();
  return to.body;
}

}  // namespace gantry
