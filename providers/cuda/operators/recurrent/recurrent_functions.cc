// SPDX-License-Identifier: Apache-2.0
#include "operators/recurrent/recurrent_functions.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <vector>

#include "plan/types.h"

namespace gantry::cuda {
namespace {

// An expression of x, a (alpha) and b (beta). The lists activation_alpha and activation_beta have
// entries only for functions that use them.
struct Function {
  const char* name;  // in lower case
  const char* text;
  bool has_alpha = false;
  float alpha = 0;
  bool has_beta = false;
  float beta = 0;
};

constexpr Function kFunctions[] = {
    {"relu", "x > (C)0 ? x : (C)0"},
    {"tanh", "tanh_(x)"},
    {"sigmoid", "(C)1 / ((C)1 + exp_(-x))"},
    {"softsign", "x / ((C)1 + fabs_(x))"},
    {"softplus", "larger(x, (C)0) + log1p_(exp_(-fabs_(x)))"},
    {"affine", "a * x + b", true, 1, true, 0},
    {"leakyrelu", "x < (C)0 ? a * x : x", true, 0.01F},
    {"thresholdedrelu", "x > a ? x : (C)0", true, 1},
    {"scaledtanh", "a * tanh_(b * x)", true, 1, true, 1},
    {"hardsigmoid", "smaller(larger(a * x + b, (C)0), (C)1)", true, 0.2F, true, 0.5F},
    {"elu", "x < (C)0 ? a * expm1_(x) : x", true, 1},
};

// The default functions of a layer, by their number per direction.
const char* usual(int count, int number) { return count != 1 && number == 0 ? "sigmoid" : "tanh"; }

const Function& function_of(const sdk::NodeView& node, std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  const auto* const found =
      std::find_if(std::begin(kFunctions), std::end(kFunctions),
                   [&](const Function& function) { return name == function.name; });
  if (found == std::end(kFunctions))
    node.fail(GANTRY_INVALID_MODEL, "there is no activation \"" + name + "\"");
  return *found;
}

}  // namespace

std::string recurrent_functions(const sdk::NodeView& node, int directions, int count) {
  const std::vector<std::string> names = node.get_strings("activations");
  const std::vector<float> alphas = node.get_floats("activation_alpha");
  const std::vector<float> betas = node.get_floats("activation_beta");
  if (!names.empty() && std::ssize(names) < directions * count) {
    node.fail(GANTRY_INVALID_MODEL, "attribute activations has " + std::to_string(names.size()) +
                                        " names, needs " + std::to_string(directions * count));
  }
  std::string texts[3];
  size_t alpha = 0;
  size_t beta = 0;
  for (int i = 0; i < directions * count; ++i) {
    const Function& function =
        function_of(node, names.empty() ? usual(count, i % count) : names[static_cast<size_t>(i)]);
    const float a = function.has_alpha && alpha < alphas.size() ? alphas[alpha++] : function.alpha;
    const float b = function.has_beta && beta < betas.size() ? betas[beta++] : function.beta;
    texts[i % count] += "  if (direction == " + std::to_string(i / count) +
                        ") { const C a = " + literal(GANTRY_DOUBLE, a) +
                        ", b = " + literal(GANTRY_DOUBLE, b) + "; (void)a; (void)b; return " +
                        function.text + "; }\n";
  }
  const char* const wanted[] = {"first", "second", "third"};
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += std::string("inline C ") + wanted[i] + "_function(C x, int direction) {\n" + texts[i] +
            "  return x;\n}\n";
  }
  return text;
}

}  // namespace gantry::cuda
