// SPDX-License-Identifier: Apache-2.0
#include "recurrent/recurrent.h"

#include <cctype>
#include <cmath>

#include "attributes.h"
#include "simd/row_math.h"
#include "simd/vector_math.h"

namespace gantry::cpu {
namespace {

struct Named {
  const char* name;
  Activation::Kind kind;
  bool has_alpha;
  bool has_beta;
  float alpha;
  float beta;
};
constexpr Named kNamedActivations[] = {
    {"relu", Activation::Kind::kRelu, false, false, 0, 0},
    {"tanh", Activation::Kind::kTanh, false, false, 0, 0},
    {"sigmoid", Activation::Kind::kSigmoid, false, false, 0, 0},
    {"affine", Activation::Kind::kAffine, true, true, 1, 0},
    {"leakyrelu", Activation::Kind::kLeakyRelu, true, false, 0.01F, 0},
    {"thresholdedrelu", Activation::Kind::kThresholdedRelu, true, false, 1, 0},
    {"scaledtanh", Activation::Kind::kScaledTanh, true, true, 1, 1},
    {"hardsigmoid", Activation::Kind::kHardSigmoid, true, true, 0.2F, 0.5F},
    {"elu", Activation::Kind::kElu, true, false, 1, 0},
    {"softsign", Activation::Kind::kSoftsign, false, false, 0, 0},
    {"softplus", Activation::Kind::kSoftplus, false, false, 0, 0},
};

const Named& find_activation(const sdk::NodeView& node, std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Named& named : kNamedActivations) {
    if (name == named.name) return named;
  }
  node.fail(GANTRY_INVALID_MODEL, "attribute activations names \"" + name +
                                      "\", which is no activation function of ONNX");
}

template <class F>
void map(double* x, int64_t count, F f) {
  for (int64_t i = 0; i < count; ++i) x[i] = f(x[i]);
}

}  // namespace

void Activation::apply(float* x, int64_t count) const {
  const float parameters[2] = {alpha, beta};
  switch (kind) {
    case Kind::kRelu:
      return simd::relu(x, x, count, nullptr);
    case Kind::kTanh:
      return simd::tanh(x, x, count, nullptr);
    case Kind::kSigmoid:
      return simd::sigmoid(x, x, count, nullptr);
    case Kind::kAffine:
      return simd::affine(x, x, count, alpha, beta);
    case Kind::kLeakyRelu:
      return simd::leaky_relu(x, x, count, parameters);
    case Kind::kThresholdedRelu:
      for (int64_t i = 0; i < count; ++i) x[i] = x[i] >= alpha ? x[i] : 0.0F;
      return;
    case Kind::kScaledTanh:
      simd::affine(x, x, count, beta, 0.0F);
      simd::tanh(x, x, count, nullptr);
      return simd::affine(x, x, count, alpha, 0.0F);
    case Kind::kHardSigmoid:
      return simd::hard_sigmoid(x, x, count, parameters);
    case Kind::kElu:
      return simd::elu(x, x, count, parameters);
    case Kind::kSoftsign:
      return simd::softsign(x, x, count, nullptr);
    case Kind::kSoftplus:
      return simd::softplus(x, x, count, nullptr);
  }
}

void Activation::apply(double* x, int64_t count) const {
  const double a = alpha;
  const double b = beta;
  switch (kind) {
    case Kind::kRelu:
      return map(x, count, [](double v) { return v < 0 ? 0 : v; });
    case Kind::kTanh:
      return map(x, count, [](double v) { return std::tanh(v); });
    case Kind::kSigmoid:
      return map(x, count, [](double v) { return 1 / (1 + std::exp(-v)); });
    case Kind::kAffine:
      return map(x, count, [=](double v) { return a * v + b; });
    case Kind::kLeakyRelu:
      return map(x, count, [=](double v) { return v < 0 ? a * v : v; });
    case Kind::kThresholdedRelu:
      return map(x, count, [=](double v) { return v >= a ? v : 0; });
    case Kind::kScaledTanh:
      return map(x, count, [=](double v) { return a * std::tanh(b * v); });
    case Kind::kHardSigmoid:
      return map(x, count, [=](double v) { return std::min(std::max(a * v + b, 0.0), 1.0); });
    case Kind::kElu:
      return map(x, count, [=](double v) { return v < 0 ? a * std::expm1(v) : v; });
    case Kind::kSoftsign:
      return map(x, count, [](double v) { return v / (1 + std::fabs(v)); });
    case Kind::kSoftplus:
      return map(x, count,
                 [](double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v))); });
  }
}

Recurrent::Recurrent(const sdk::NodeView& node, int gates, const std::vector<std::string>& defaults)
    : NodeKernel(node),
      gates_(gates),
      batch_first_(node.get_int("layout", 0) != 0),
      hidden_(node.get_int("hidden_size", 0)),
      clip_(node.get_float("clip", 0.0F)),
      activation_count_(static_cast<int>(defaults.size())) {
  parse_direction(node);
  parse_activations(node, defaults);
}

void Recurrent::parse_direction(const sdk::NodeView& node) {
  // The schema of GRU-1 misspells its default direction.
  const int direction =
      read_choice(node, "direction", "forward", {"forward", "foward", "reverse", "bidirectional"});
  starts_reverse_ = direction == 2;
  directions_ = direction == 3 ? 2 : 1;
}

void Recurrent::parse_activations(const sdk::NodeView& node,
                                  const std::vector<std::string>& defaults) {
  std::vector<std::string> names = node.get_strings("activations");
  const size_t needed = defaults.size() * static_cast<size_t>(directions_);
  if (names.empty()) {
    for (int d = 0; d < directions_; ++d)
      names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() < needed) {
    node.fail(GANTRY_INVALID_MODEL, "attribute activations has " + std::to_string(names.size()) +
                                        " names, expected " + std::to_string(needed));
  }
  const std::vector<float> alphas = node.get_floats("activation_alpha");
  const std::vector<float> betas = node.get_floats("activation_beta");
  size_t next_alpha = 0;
  size_t next_beta = 0;
  // activation_alpha and activation_beta have values only for functions with such a parameter.
  for (size_t i = 0; i < needed; ++i) {
    const Named& named = find_activation(node, names[i]);
    Activation activation = {named.kind, named.alpha, named.beta};
    if (named.has_alpha && next_alpha < alphas.size()) activation.alpha = alphas[next_alpha++];
    if (named.has_beta && next_beta < betas.size()) activation.beta = betas[next_beta++];
    activations_.push_back(activation);
  }
}

Recurrent::Sizes Recurrent::resolve(sdk::Call& call) const {
  for (int slot = 0; slot < 3; ++slot) require_rank(call, slot, 3);
  const sdk::Shape x = call.shape(0);
  Sizes s = {};
  s.steps = x[batch_first_ ? 1 : 0];
  s.batch = x[batch_first_ ? 0 : 1];
  s.input = x[2];
  s.hidden = call.shape(2)[2];
  if (hidden_ > 0 && hidden_ != s.hidden) {
    fail("attribute hidden_size is " + std::to_string(hidden_) +
         ", but the recurrent weights have shape " + to_string(call.shape(2)));
  }
  const int64_t width = gates_ * s.hidden;
  require_shape(call, 1, {directions_, width, s.input});
  require_shape(call, 2, {directions_, width, s.hidden});
  if (call.has_input(3)) require_shape(call, 3, {directions_, 2 * width});
  if (call.has_input(5)) require_state(call, 5, s);
  for (int slot = 1; slot < call.input_count(); ++slot) {
    if (slot != 4 && call.has_input(slot) && call.input(slot).dtype != call.input(0).dtype) {
      fail("input " + std::to_string(slot) + " must have the element type of input 0");
    }
  }
  if (call.has_input(4)) {
    require_shape(call, 4, {s.batch});
    if (call.input(4).dtype != GANTRY_INT32) fail("the sequence lengths must be int32");
    for (int64_t n = 0; n < s.batch; ++n) {
      const int32_t length = call.data<int32_t>(4)[n];
      if (length < 0 || length > s.steps) {
        fail("sequence length " + std::to_string(length) + " is outside 0 to " +
             std::to_string(s.steps));
      }
    }
  }
  const int64_t work[] = {s.steps, s.batch, directions_, width};
  static_cast<void>(count_of({work, 4}));
  check_gemm(count_of({work, 2}), width, std::max(s.input, s.hidden), label());
  return s;
}

void Recurrent::require_shape(sdk::Call& call, int slot,
                              std::initializer_list<int64_t> shape) const {
  const sdk::Shape expected(shape.begin(), static_cast<int>(shape.size()));
  if (call.shape(slot) != expected) {
    fail("input " + std::to_string(slot) + " has shape " + to_string(call.shape(slot)) +
         ", needs " + to_string(expected));
  }
}

void Recurrent::require_state(sdk::Call& call, int slot, const Sizes& sizes) const {
  if (batch_first_) {
    require_shape(call, slot, {sizes.batch, directions_, sizes.hidden});
  } else {
    require_shape(call, slot, {directions_, sizes.batch, sizes.hidden});
  }
}

}  // namespace gantry::cpu
