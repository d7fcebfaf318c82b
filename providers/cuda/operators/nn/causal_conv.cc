// SPDX-License-Identifier: Apache-2.0
// CausalConvWithState: a depthwise convolution over a sequence, with the last inputs as its state.
#include "kernels/nn/causal_conv.h"

#include <algorithm>

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

class CausalConv final : public Operation {
 public:
  explicit CausalConv(const NodeView& node)
      : has_silu_(node.get_string("activation", "none") != "none") {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const Extents& w = planner.shape(1);
    if (x.rank() != 3 || w.size() != 3 || w[0] != x.shape[1] || w[1] != 1 || w[2] < 1) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "weights of the shape " + text_of(w) + " do not fit " + text_of(x.shape) +
                           ", expected [channels, 1, taps] for [batch, channels, length]");
    }
    const Extents state = {x.shape[0], x.shape[1], w[2] - 1};
    check(planner, 2, {x.shape[1]});
    check(planner, 3, state);
    CausalConvParameters p = {};
    p.length = x.shape[2];
    p.taps = w[2];
    Addresses addresses = {{&p.source, Planner::in(0)}, {&p.weights, Planner::in(1)}};
    if (planner.wants(0)) addresses.emplace_back(&p.result, planner.output(0, x.dtype, x.shape));
    if (planner.wants(1)) addresses.emplace_back(&p.present, planner.output(1, x.dtype, state));
    if (planner.has_input(2)) addresses.emplace_back(&p.bias, Planner::in(2));
    if (planner.has_input(3)) addresses.emplace_back(&p.past, Planner::in(3));
    const int64_t positions = p.length + p.taps - 1;
    p.count = x.shape[0] * x.shape[1] * positions;
    if (p.count == 0) return;
    p.positions = divisor_of(positions);
    p.channels = divisor_of(x.shape[1]);
    const std::string body =
        std::string("\ntypedef ") + index_type(p.count < int64_t{1} << 31) + " Index;\ntypedef " +
        type_name(x.dtype) + " T;\ntypedef " + computed_name(x.dtype) + " C;\n#define HAS_SILU " +
        (has_silu_ ? "1\n" : "0\n") + std::string(kernel_text("causal_conv.cu"));
    planner.launch(
        kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "causal_conv.h"}, body),
        blocks_for(planner, p.count), kThreads, p, addresses);
  }

 private:
  using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

  static void check(const Planner& planner, int slot, const Extents& expected) {
    if (!planner.has_input(slot) || planner.shape(slot) == expected) return;
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, "input " + std::to_string(slot) + " has the shape " +
                                                  text_of(planner.shape(slot)) + ", expected " +
                                                  text_of(expected));
  }

  bool has_silu_;
};

std::string has_known_activation(const NodeView& node) {
  const std::string activation = node.get_string("activation", "none");
  return activation == "none" || activation == "silu" || activation == "swish"
             ? ""
             : "the activation " + activation + " is not known";
}

constexpr sdk::KernelRow kRows[] = {
    {"CausalConvWithState",
     27,
     sdk::kLatest,
     sdk::kFloats,
     make<CausalConv>,
     {},
     has_known_activation},
};

}  // namespace

sdk::KernelTable causal_conv_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
