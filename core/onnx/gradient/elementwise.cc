// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "onnx/gradient/rules.h"

namespace gantry {
namespace {

using To = Backward;
using onnx::NodeProto;
using Name = std::string;

void power(To& to, const NodeProto& node, const Name& g) {
  const Name& x = in(node);
  const Name& p = in(node, 1);
  if (to.wants(x)) {
    const Name less = to.add("Pow", {x, to.add("Sub", {p, to.ones_like(p)})});
    to.give(x, out(node), to.product(g, to.product(p, less)));
  }
  if (to.wants(p)) to.give(p, out(node), to.product(g, to.product(out(node), to.add("Log", {x}))));
}

/// g / sqrt(sign x^2 + offset): Asin, Acos, Asinh, Acosh.
void over_root(To& to, const NodeProto& node, const Name& g, double sign, double offset,
               double factor) {
  const Name square = to.product(in(node), in(node));
  const Name radicand = to.add("Add", {to.scaled(square, sign), to.number(in(node), offset)});
  to.give(in(node), to.scaled(to.add("Div", {g, to.add("Sqrt", {radicand})}), factor));
}
/// g / (1 + sign x^2)
void over_square(To& to, const NodeProto& node, const Name& g, double sign) {
  const Name square = to.scaled(to.product(in(node), in(node)), sign);
  to.give(in(node), to.add("Div", {g, to.add("Add", {square, to.number(in(node), 1)})}));
}

Name is_positive(To& to, const Name& x) { return to.add("Greater", {x, to.number(x, 0)}); }

/// y = gamma x for x > 0, else gamma alpha (exp(x) - 1).
void elu(To& to, const NodeProto& node, const Name& g, double alpha, double gamma) {
  const Name below = to.add("Add", {out(node), to.number(in(node), alpha * gamma)});
  to.give(in(node),
          to.add("Where", {is_positive(to, in(node)), to.scaled(g, gamma), to.product(g, below)}));
}

void gelu(To& to, const NodeProto& node, const Name& g) {
  const Name& x = in(node);
  const onnx::AttributeProto* approximate = find_attribute(node, "approximate");
  const Name half = to.number(x, 0.5);
  const Name square = to.product(x, x);
  if (approximate && approximate->s() == "tanh") {
    const double root = std::sqrt(2 / std::numbers::pi);
    const Name cubic = to.add("Add", {to.scaled(square, 0.044715), to.number(x, 1)});
    const Name t = to.add("Tanh", {to.product(to.scaled(x, root), cubic)});
    const Name slope =
        to.scaled(to.add("Add", {to.scaled(square, 3 * 0.044715), to.number(x, 1)}), root);
    const Name rest = to.add("Sub", {to.number(x, 1), to.product(t, t)});
    const Name bend = to.product(to.product(to.product(x, half), rest), slope);
    return to.give(x,
                   to.product(g, to.add("Add", {to.add("Add", {to.scaled(t, 0.5), half}), bend})));
  }
  const Name erf = to.add("Erf", {to.scaled(x, std::numbers::sqrt2 / 2)});
  const Name below = to.add("Add", {to.scaled(erf, 0.5), half});
  const Name density =
      to.scaled(to.add("Exp", {to.scaled(square, -0.5)}), 1 / std::sqrt(2 * std::numbers::pi));
  to.give(x, to.product(g, to.add("Add", {below, to.product(x, density)})));
}

/// Max, Min: an input gets the derivative where it equals the output; of several equal inputs each
/// does.
void extreme(To& to, const NodeProto& node, const Name& g) {
  for (const Name& input : node.input()) {
    if (to.wants(input))
      to.give(input, out(node), to.where(to.add("Equal", {input, out(node)}), g));
  }
}

void clip(To& to, const NodeProto& node, const Name& g) {
  to.refuse_from(node, 1);
  to.give(in(node), to.where(to.add("Equal", {in(node), out(node)}), g));
}

void hard_sigmoid(To& to, const NodeProto& node, const Name& g) {
  const Name& y = out(node);
  const Name inside = to.add("And", {is_positive(to, y), to.add("Less", {y, to.number(y, 1)})});
  to.give(in(node), to.where(inside, to.scaled(g, float_of(node, "alpha", 0.2F))));
}

/// y = x (x + 3) / 6 between -3 and 3, 0 below, x above.
void hard_swish(To& to, const NodeProto& node, const Name& g) {
  const Name& x = in(node);
  const Name slope = to.add("Add", {to.scaled(x, 1.0 / 3), to.number(x, 0.5)});
  const Name risen =
      to.add("Where", {to.add("Less", {x, to.number(x, 3)}), to.product(g, slope), g});
  to.give(x, to.where(to.add("Greater", {x, to.number(x, -3)}), risen));
}

void select(To& to, const NodeProto& node, const Name& g) {
  const Name zero = to.number(g, 0);
  if (to.wants(in(node, 1))) to.give(in(node, 1), out(node), to.add("Where", {in(node), g, zero}));
  if (to.wants(in(node, 2))) to.give(in(node, 2), out(node), to.add("Where", {in(node), zero, g}));
}

void cast(To& to, const NodeProto& node, const Name& g) {
  const int32_t type = to.element_type(in(node));
  const bool is_float = type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::DOUBLE ||
                        type == onnx::TensorProto::FLOAT16 || type == onnx::TensorProto::BFLOAT16;
  if (!is_float) return;
  to.give(in(node), to.add("Cast", {g}, {onnx::MakeAttribute("to", int64_t{type})}));
}

void divide(To& to, const NodeProto& node, const Name& g) {
  const Name part = to.add("Div", {g, in(node, 1)});
  to.give(in(node), out(node), part);
  if (!to.wants(in(node, 1))) return;
  to.give(in(node, 1), out(node), to.add("Neg", {to.product(part, out(node))}));
}

/// The slopes are broadcast to x.
void prelu(To& to, const NodeProto& node, const Name& g) {
  const Name& x = in(node);
  const Name is_above = is_positive(to, x);
  if (to.wants(x)) to.give(x, to.add("Where", {is_above, g, to.product(g, in(node, 1))}));
  if (!to.wants(in(node, 1))) return;
  to.give(in(node, 1), out(node), to.add("Where", {is_above, to.number(x, 0), to.product(g, x)}));
}

void add_arithmetic(std::map<std::string, Rule>& rules) {
  rules["Identity"] = [](To& to, const NodeProto& n, const Name& g) { to.give(in(n), g); };
  rules["Neg"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.add("Neg", {g}));
  };
  rules["Add"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), out(n), g);
    to.give(in(n, 1), out(n), g);
  };
  rules["Sum"] = [](To& to, const NodeProto& n, const Name& g) {
    for (const Name& input : n.input()) to.give(input, out(n), g);
  };
  rules["Mean"] = [](To& to, const NodeProto& n, const Name& g) {
    const Name part = to.scaled(g, 1.0 / n.input_size());
    for (const Name& input : n.input()) to.give(input, out(n), part);
  };
  rules["Sub"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), out(n), g);
    if (to.wants(in(n, 1))) to.give(in(n, 1), out(n), to.add("Neg", {g}));
  };
  rules["Mul"] = [](To& to, const NodeProto& n, const Name& g) {
    if (to.wants(in(n))) to.give(in(n), out(n), to.product(g, in(n, 1)));
    if (to.wants(in(n, 1))) to.give(in(n, 1), out(n), to.product(g, in(n)));
  };
  rules["Div"] = divide;
  rules["Pow"] = power;
  rules["Max"] = extreme;
  rules["Min"] = extreme;
  rules["Clip"] = clip;
  rules["Where"] = select;
  rules["Cast"] = cast;
  rules["Reciprocal"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.add("Neg", {to.product(g, to.product(out(n), out(n)))}));
  };
  rules["Abs"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.product(g, to.add("Sign", {in(n)})));
  };
}

void add_functions(std::map<std::string, Rule>& rules) {
  rules["Exp"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.product(g, out(n)));
  };
  rules["Log"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.add("Div", {g, in(n)}));
  };
  rules["Sqrt"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.add("Div", {g, to.add("Add", {out(n), out(n)})}));
  };
  rules["Erf"] = [](To& to, const NodeProto& n, const Name& g) {
    const Name bell = to.add("Exp", {to.add("Neg", {to.product(in(n), in(n))})});
    to.give(in(n), to.product(g, to.scaled(bell, 2 / std::sqrt(std::numbers::pi))));
  };
  rules["Sin"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.product(g, to.add("Cos", {in(n)})));
  };
  rules["Cos"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.add("Neg", {to.product(g, to.add("Sin", {in(n)}))}));
  };
  rules["Tan"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.add("Add", {g, to.product(g, to.product(out(n), out(n)))}));
  };
  rules["Sinh"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.product(g, to.add("Cosh", {in(n)})));
  };
  rules["Cosh"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.product(g, to.add("Sinh", {in(n)})));
  };
  rules["Asin"] = [](To& to, const NodeProto& n, const Name& g) { over_root(to, n, g, -1, 1, 1); };
  rules["Acos"] = [](To& to, const NodeProto& n, const Name& g) { over_root(to, n, g, -1, 1, -1); };
  rules["Asinh"] = [](To& to, const NodeProto& n, const Name& g) { over_root(to, n, g, 1, 1, 1); };
  rules["Acosh"] = [](To& to, const NodeProto& n, const Name& g) { over_root(to, n, g, 1, -1, 1); };
  rules["Atan"] = [](To& to, const NodeProto& n, const Name& g) { over_square(to, n, g, 1); };
  rules["Atanh"] = [](To& to, const NodeProto& n, const Name& g) { over_square(to, n, g, -1); };
  rules["Tanh"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.add("Sub", {g, to.product(g, to.product(out(n), out(n)))}));
  };
  rules["Sigmoid"] = [](To& to, const NodeProto& n, const Name& g) {
    const Name part = to.product(g, out(n));
    to.give(in(n), to.add("Sub", {part, to.product(part, out(n))}));
  };
}

void add_activations(std::map<std::string, Rule>& rules) {
  rules["Softplus"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.product(g, to.add("Sigmoid", {in(n)})));
  };
  rules["Softsign"] = [](To& to, const NodeProto& n, const Name& g) {
    const Name sum = to.add("Add", {to.add("Abs", {in(n)}), to.number(in(n), 1)});
    to.give(in(n), to.add("Div", {g, to.product(sum, sum)}));
  };
  // Relu's output is never negative, so its sign is 0 or 1.
  rules["Relu"] = [](To& to, const NodeProto& n, const Name& g) {
    to.give(in(n), to.product(g, to.add("Sign", {out(n)})));
  };
  rules["LeakyRelu"] = [](To& to, const NodeProto& n, const Name& g) {
    const Name below = to.scaled(g, float_of(n, "alpha", 0.01F));
    to.give(in(n), to.add("Where", {is_positive(to, in(n)), g, below}));
  };
  rules["Elu"] = [](To& to, const NodeProto& n, const Name& g) {
    elu(to, n, g, float_of(n, "alpha", 1.0F), 1);
  };
  rules["Selu"] = [](To& to, const NodeProto& n, const Name& g) {
    elu(to, n, g, float_of(n, "alpha", 1.67326319F), float_of(n, "gamma", 1.05070102F));
  };
  rules["Gelu"] = gelu;
  rules["HardSigmoid"] = hard_sigmoid;
  rules["HardSwish"] = hard_swish;
  rules["PRelu"] = prelu;
}

}  // namespace

const std::map<std::string, Rule>& elementwise_rules() {
  static const std::map<std::string, Rule> kRules = [] {
    std::map<std::string, Rule> rules;
    add_arithmetic(rules);
    add_functions(rules);
    add_activations(rules);
    return rules;
  }();
  return kRules;
}

}  // namespace gantry
