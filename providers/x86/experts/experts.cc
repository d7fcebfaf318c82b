// SPDX-License-Identifier: Apache-2.0
// MoE and QMoE (com.microsoft 1): a mixture of experts, whose matrices are f32 or stay in 2, 4 or 8
// bits in memory. Only the experts that a token is routed to are computed: the tokens of each are
// multiplied together.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>

#include "eltwise/code.h"
#include "experts/layer.h"
#include "experts/routes.h"
#include "fuse/kernels.h"
#include "matmul/nbits/code.h"
#include "matmul/packed/code.h"

namespace gantry::x86 {
namespace {

constexpr int kTokens = 0;
constexpr int kLogits = 1;

/// The two operators: where their inputs are, and how a layer is made of its own.
struct Form {
  std::array<LayerInputs, 3> layers;
  int given_shares = kNoInput;  ///< f32: what each expert counts for each token; optional
  Shares shares = Shares::kOfChosen;
  const LayerKind* kind;
};

constexpr Form kMoe = {.layers = {{{"fc1", 2, 3}, {"fc2", 4, 5}, {"fc3", 6, 7}}},
                       .shares = Shares::kOfAll,
                       .kind = &kFloatLayers};
constexpr Form kQmoe = {
    .layers = {{{"fc1", 2, 4, 3, 11}, {"fc2", 5, 7, 6, 12}, {"fc3", 8, 10, 9, 13}}},
    .given_shares = 14,
    .kind = &kBlockLayers};
constexpr int kFirstOfFewBits = 15;  // of QMoE: scales of floats of 4 and 8 bits
constexpr int kEndOfFewBits = 21;

enum Place : uint8_t { kFirst, kSecond, kThird };  // of a layer

const Form& form_of(const sdk::NodeView& node) { return node.op_type() == "MoE" ? kMoe : kQmoe; }

enum class SwigluFusion : uint8_t { kNone, kPairs, kHalves };  // the attribute swiglu_fusion

struct Gating {
  std::string activation;
  bool has_third = false;
  SwigluFusion fusion = SwigluFusion::kNone;

  explicit Gating(const sdk::NodeView& node)
      : activation(node.get_string("activation_type", "relu")),
        has_third(node.input(form_of(node).layers[kThird].weights).present()) {
    const int64_t given = node.get_int("swiglu_fusion", 0);
    if (is_swiglu() && !has_third && (given == 1 || given == 2))
      fusion = static_cast<SwigluFusion>(given);
  }
  [[nodiscard]] bool is_swiglu() const { return activation == "swiglu"; }
  /// Whether the first layer makes the linear part as well.
  [[nodiscard]] bool is_fused() const { return fusion != SwigluFusion::kNone; }
};

/// Places of the instructions: what the first layer made, what its result is multiplied by, a tile
/// of `activation_beta`, the result.
enum Slot : uint8_t { kGate, kLine, kBeta, kResult };

Instruction instruction(Operation operation, uint32_t a, uint32_t b, uint32_t to, float alpha = 0,
                        float beta = 0) {
  return {operation, a, b, to, alpha, beta};
}

std::optional<Operation> operation_of(const std::string& activation) {
  if (activation == "relu") return Operation::kRelu;
  if (activation == "gelu") return Operation::kGelu;
  if (activation == "silu" || activation == "swiglu") return Operation::kSwish;
  return std::nullopt;
}

/// What stands between the layers, element by element.
std::vector<Instruction> instructions_of(const sdk::NodeView& node, const Gating& gating) {
  constexpr float kNoLimit = std::numeric_limits<float>::infinity();
  std::vector<Instruction> code;
  uint32_t gate = kGate;
  const float limit = node.get_float("swiglu_limit", kNoLimit);
  if (gating.is_swiglu() && node.has("swiglu_limit")) {
    code.push_back(instruction(Operation::kClip, kGate, 0, kGate, -kNoLimit, limit));
    code.push_back(instruction(Operation::kClip, kLine, 0, kLine, -limit, limit));
  }
  if (const auto operation = operation_of(gating.activation)) {
    const float alpha = gating.is_swiglu() ? node.get_float("activation_alpha", 1) : 1;
    code.push_back(instruction(*operation, kGate, 0, kResult, alpha));
    gate = kResult;
  }
  if (gating.is_swiglu()) code.push_back(instruction(Operation::kAdd, kLine, kBeta, kLine));
  if (gating.is_swiglu() || gating.has_third)
    code.push_back(instruction(Operation::kMul, gate, kLine, kResult));
  return code;
}

class ExpertsKernel final : public sdk::Kernel {
 public:
  explicit ExpertsKernel(const KernelArgs& args) {
    const sdk::NodeView node = args.index.node(args.fusion.root);
    label_ = node.label();
    form_ = &form_of(node);
    routing_.chosen = node.get_int("k", 1);
    routing_.is_normalized = node.get_int("normalize_routing_weights", 0) != 0;
    routing_.shares = node.input(form_->given_shares).present() ? Shares::kGiven : form_->shares;
    const Gating gating(node);
    is_fused_ = gating.is_fused();
    has_third_ = gating.has_third;
    code_ = instructions_of(node, gating);
    beta_.fill(node.get_float("activation_beta", 0));
    const gantry_host* host = args.index.host();
    const auto make = [&](Place place, bool are_pairs) {
      return form_->kind->make(host, node, form_->layers[place], are_pairs);
    };
    first_ = make(kFirst, gating.fusion == SwigluFusion::kPairs);
    second_ = make(kSecond, false);
    if (has_third_) third_ = make(kThird, false);
    routing_.experts = first_->shape().experts;
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape input = call.shape(kTokens);
    const sdk::Shape logits = call.shape(kLogits);
    const int64_t hidden = first_->shape().inner;
    const int64_t experts = routing_.experts;
    const int64_t tokens = input.rank > 0 ? input.count(0, input.rank - 1) : 0;
    require("the last extent of input 0 (a row of fc1's weights)", hidden,
            input.rank > 0 ? input[input.rank - 1] : 0);
    require("the elements of input 1 (a logit of each token for each expert)", tokens * experts,
            logits.element_count());
    gantry_tensor& target = call.output(0, GANTRY_FLOAT, input);
    if (tokens == 0) return;
    const float* given = nullptr;
    if (routing_.shares == Shares::kGiven) {
      const int input = form_->given_shares;
      require("the elements of input 14 (a weight of each token for each expert)", tokens * experts,
              call.shape(input).element_count());
      given = call.data<float>(input);
    }
    const Routes routes = route(call, routing_, tokens, call.data<float>(kLogits), given);
    const float* features = make_features(call, routes);
    call.poll();
    auto* results = call.scratch<float>(tokens * routing_.chosen * hidden);
    second_->multiply(call, routes, features, nullptr, results);
    combine(call, routes, results, static_cast<float*>(target.data));
  }

 private:
  void require(const char* subject, int64_t expected, int64_t found) const {
    if (found == expected) return;
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, label_ + ": " + subject + ": expected " +
                                                  std::to_string(expected) + ", found " +
                                                  std::to_string(found));
  }

  /// [rows, inner of the second layer].
  const float* make_features(sdk::Call& call, const Routes& routes) const {
    const auto count = static_cast<int64_t>(routes.tokens.size());
    const int64_t width = second_->shape().inner;
    auto* made = call.scratch<float>(count * first_->shape().columns);
    float* lines = has_third_ ? call.scratch<float>(count * width) : nullptr;
    const auto* tokens = call.data<float>(kTokens);
    const int64_t* order = routes.tokens.data();
    first_->multiply(call, routes, tokens, order, made);
    if (has_third_) third_->multiply(call, routes, tokens, order, lines);
    if (code_.empty()) return made;
    auto* features = call.scratch<float>(count * width);
    constexpr int64_t kElementsPerTask = 1 << 12;
    call.parallel_for(count, std::max<int64_t>(1, kElementsPerTask / width),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t row = begin; row < end; ++row) {
                          float* gate = made + row * first_->shape().columns;
                          float* line = has_third_ ? lines + row * width : gate + width;
                          activate(gate, line, features + row * width);
                        }
                      });
    return features;
  }

  void activate(const float* gate, const float* line, float* target) const {
    alignas(64) std::array<std::array<float, kTileElements>, 3> tiles;
    const int64_t width = second_->shape().inner;
    std::array<float*, 4> slots = {tiles[kGate].data(), tiles[kLine].data(),
                                   const_cast<float*>(beta_.data()), tiles[2].data()};
    for (int64_t first = 0; first < width; first += kTileElements) {
      const int64_t count = std::min(kTileElements, width - first);
      std::copy(gate + first, gate + first + count, slots[kGate]);
      if (is_fused_ || has_third_) std::copy(line + first, line + first + count, slots[kLine]);
      run_instructions(code_, slots.data(), count);
      std::copy(slots[kResult], slots[kResult] + count, target + first);
    }
  }

  /// target[token] = the sum of its experts' results, each times its weight.
  void combine(sdk::Call& call, const Routes& routes, const float* results, float* target) const {
    const int64_t hidden = second_->shape().columns;
    const int64_t chosen = routing_.chosen;
    const auto count = static_cast<int64_t>(routes.rows.size()) / chosen;
    constexpr int64_t kElementsPerTask = 1 << 14;
    call.parallel_for(count, std::max<int64_t>(1, kElementsPerTask / (hidden * chosen)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t token = begin; token < end; ++token) {
                          float* to = target + token * hidden;
                          std::fill(to, to + hidden, 0.0F);
                          for (int64_t i = 0; i < chosen; ++i) {
                            const auto at = static_cast<size_t>(token * chosen + i);
                            const float* from = results + routes.rows[at] * hidden;
                            for (int64_t j = 0; j < hidden; ++j)
                              to[j] += routes.weights[at] * from[j];
                          }
                        }
                      });
  }

  std::string label_;
  const Form* form_ = nullptr;
  Routing routing_;
  bool is_fused_ = false;  // fc1 makes gate and linear part, [gate, line]
  bool has_third_ = false;
  std::vector<Instruction> code_;
  alignas(64) std::array<float, kTileElements> beta_{};
  std::unique_ptr<ExpertLayer> first_;
  std::unique_ptr<ExpertLayer> second_;
  std::unique_ptr<ExpertLayer> third_;
};

}  // namespace

std::string experts_refusal(const GraphIndex& index, const Fusion& fusion) {
  const sdk::NodeView node = index.node(fusion.root);
  const Form& form = form_of(node);
  if (!block_code().multiply_floats || !matmul_code())
    return "without AVX2 there is no code for it";
  const auto is_float = [&](int input) { return node.input(input).dtype() == GANTRY_FLOAT; };
  if (!is_float(kTokens) || !is_float(kLogits) ||
      (node.input(form.given_shares).present() && !is_float(form.given_shares)))
    return "only float32 is taken";
  if (node.input(kTokens).rank() < 1) return "the rank of its tokens is not known";
  for (int input = kFirstOfFewBits; input < kEndOfFewBits; ++input) {
    if (node.input(input).present()) return "its weights are floats of few bits";
  }
  if (node.get_string("quant_type", "int") != "int" || node.get_int("weights_prepacked", 0) > 0 ||
      node.get_int("use_sparse_mixer", 0) != 0)
    return "quant_type, weights_prepacked or use_sparse_mixer is not the default";
  const Gating gating(node);
  for (const Place place : {kFirst, kSecond, kThird}) {
    if (place == kThird && !gating.has_third) continue;
    if (std::string reason = form.kind->refusal(node, form.layers[place]); !reason.empty())
      return reason;
  }
  if (gating.is_swiglu() ? !gating.is_fused() && !gating.has_third
                         : gating.activation != "identity" && !operation_of(gating.activation))
    return "its activation is not known";
  const LayerShape first = form.kind->shape(node, form.layers[kFirst]);
  const LayerShape second = form.kind->shape(node, form.layers[kSecond]);
  const int64_t parts = gating.is_fused() ? 2 : 1;
  bool fits = second.experts == first.experts && first.columns == parts * second.inner &&
              second.columns == first.inner;
  if (gating.has_third) {
    const LayerShape third = form.kind->shape(node, form.layers[kThird]);
    fits = fits && third.experts == first.experts && third.inner == first.inner &&
           third.columns == second.inner;
  }
  if (!fits) return "the extents of its layers do not fit together";
  const int64_t chosen = node.get_int("k", 1);
  if (chosen < 1 || chosen > first.experts) return "k is not from 1 to the number of experts";
  return {};
}

bool is_experts_parameter(const GraphIndex& index, uint32_t node, uint32_t position) {
  const auto input = static_cast<int>(position);
  return input != kTokens && input != kLogits && input != form_of(index.node(node)).given_shares;
}

std::span<const Implementation> experts_implementations(const Fusion&) {
  static constexpr Implementation kAll[] = {{"chosen experts", make_always<ExpertsKernel>}};
  return kAll;
}

}  // namespace gantry::x86
