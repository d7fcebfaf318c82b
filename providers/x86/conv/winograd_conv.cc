// SPDX-License-Identifier: Apache-2.0
// Conv (ai.onnx 1, 11, 22) in f32 of 3 x 3 without strides, dilations and groups, by Winograd's
// minimal filtering: 4 or 2.25 times fewer multiplications than there are in the definition. Of
// the epilogue, normalisation and scaling are folded into the weights; additions and the commoner
// activations are applied before a result is stored. Fusions with other steps are left to oneDNN.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conv/conv_run.h"
#include "conv/implementations.h"
#include "conv/winograd/convolution.h"
#include "conv/winograd/selection.h"
#include "conv/winograd/weights.h"
#include "fuse/constants.h"
#include "fuse/kernels.h"
#include "onednn/ordinary.h"
#include "options.h"

namespace gantry::x86 {
namespace {

using winograd::Convolution;
using winograd::Geometry;
using winograd::Step;
using winograd::Tile;

std::optional<Step> step_of(const EpilogueStep& step) {
  using dnnl::algorithm;
  if (step.rounding) return std::nullopt;
  if (!step.activation) return Step{Step::Kind::kAdd};
  const auto& [function, alpha, beta] = *step.activation;
  switch (function) {
    case algorithm::eltwise_relu:
      return Step{Step::Kind::kRelu, alpha, beta};
    case algorithm::eltwise_clip:
      return Step{Step::Kind::kClip, alpha, beta};
    case algorithm::eltwise_hardsigmoid:
      return Step{Step::Kind::kHardSigmoid, alpha, beta};
    case algorithm::eltwise_hardswish:
      return Step{Step::Kind::kHardSwish, alpha, beta};
    case algorithm::eltwise_logistic:
      return Step{Step::Kind::kSigmoid};
    case algorithm::eltwise_swish:
      return Step{Step::Kind::kSwish, alpha};
    case algorithm::eltwise_mish:
      return Step{Step::Kind::kMish};
    default:
      return std::nullopt;
  }
}

/// The epilogue's steps; nothing if these kernels lack one of them.
std::optional<std::vector<Step>> steps_of(const Fusion& fusion) {
  std::vector<Step> steps;
  for (const EpilogueStep& step : fusion.epilogue.steps) {
    const std::optional<Step> own = step_of(step);
    if (!own) return std::nullopt;
    steps.push_back(*own);
  }
  return steps;
}

bool is_possible(const Fusion& fusion, const ConvShape& shape) {
  const auto are_ones = [](const Dims& list) {
    return std::all_of(list.begin(), list.end(), [](int64_t x) { return x == 1; });
  };
  return !fusion.is_quantized() && !fusion.shuffle && shape.spatial_rank() == 2 &&
         shape.groups == 1 && shape.window.kernel == Dims{3, 3} && are_ones(shape.window.strides) &&
         are_ones(shape.window.dilations);
}

Geometry geometry_of(const Dims& input, const Dims& output, const Window::Placed& placed) {
  return {input[0],
          input[2],
          input[3],
          input[1],
          output[1],
          output[2],
          output[3],
          placed.pads_begin[0],
          placed.pads_begin[1]};
}

struct WinogradPlan : ConvPlan {
  std::optional<Convolution> convolution;

  using ConvPlan::ConvPlan;
};

class WinogradConvKernel final : public sdk::Kernel {
 public:
  WinogradConvKernel(const KernelArgs& args, ConvShape shape, std::vector<Step> steps, Tile tile)
      : shape_(std::move(shape)),
        steps_(std::move(steps)),
        tile_(tile),
        form_(winograd::form_of(shape_.output_channels(), shape_.input_channels(), tile)),
        span_(std::string(tile == Tile::k4 ? "winograd 4x4 " : "winograd 2x2 ") +
              winograd::code().name),
        slots_(args) {
    const winograd::PlainWeights plain = {args.index.value(args.fusion.weights).constant()->data,
                                          shape_.output_channels(), shape_.input_channels(),
                                          args.fusion.epilogue.scale};
    weights_ = winograd::share_weights(args.index.host(), args.choices, plain, tile, form_);
    bias_ = folded_bias(args.index, args.fusion, plain.filters);
    bias_.resize(
        static_cast<size_t>(winograd::panels_of(plain.filters) * winograd::code().columns));
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<WinogradPlan>>();
  }

  void run(sdk::Call& call) const override {
    const int threads = call.thread_count();
    const auto make = [&](const sdk::Shape& input) {
      WinogradPlan plan(shape_, input);
      if (plan.is_empty) return plan;
      plan.convolution.emplace(geometry_of(plan.input, plan.output, plan.placed), tile_, form_,
                               threads, steps_);
      return plan;
    };
    run_convolution<WinogradPlan>(call, shape_, slots_, make, [&](const WinogradPlan& plan) {
      const sdk::Span span = call.span(span_);
      const winograd::Operands operands = {plan.source_floats(),
                                           static_cast<const float*>(weights_.get()), bias_.data(),
                                           plan.addend_floats(), plan.target_floats()};
      auto* scratch = call.scratch<std::byte>(plan.convolution->scratch_bytes());
      with_threads(threads, [&] { plan.convolution->run(operands, scratch); });
    });
  }

 private:
  ConvShape shape_;
  std::vector<Step> steps_;
  Tile tile_;
  winograd::Form form_;
  std::string span_;  // name in traces
  ConvSlots slots_;
  std::shared_ptr<const void> weights_;
  std::vector<float> bias_;
};

std::optional<Tile> tile_of(const KernelArgs& args, const ConvShape& shape) {
  switch (args.options.winograd) {
    case Options::Winograd::kOff:
      return std::nullopt;
    case Options::Winograd::k2:
      return Tile::k2;
    case Options::Winograd::k4:
      return Tile::k4;
    case Options::Winograd::kAuto:
      break;
  }
  // The choice is cached, so that loading the model again does not time it again.
  const std::string& kept = args.choices.keep("winograd", [&] {
    const Dims input = shape.likely_input(args.index.value(args.fusion.sources[0].value));
    const Window::Placed placed = shape.window.place({input.begin() + 2, input.end()});
    const std::optional<Tile> faster = winograd::faster_tile(
        geometry_of(input, shape.output_of(input, placed), placed), args.threads());
    return std::string(!faster ? "no" : faster == Tile::k2 ? "2" : "4");
  });
  if (kept == "no") return std::nullopt;
  return kept == "2" ? Tile::k2 : Tile::k4;
}

/// True if no weight is NaN, infinite or very large: the transforms would spread it over all taps.
bool has_ordinary_weights(const KernelArgs& args) {
  return args.choices.keep("winograd weights are ordinary", [&] {
    const sdk::ValueView value = args.index.value(args.fusion.weights);
    const auto* floats = static_cast<const float*>(value.constant()->data);
    std::vector<float> copy;  // of unaligned weights
    if (reinterpret_cast<uintptr_t>(floats) % alignof(float) != 0) {
      copy = floats_of(value);
      floats = copy.data();
    }
    const std::span<const float> numbers(floats, static_cast<size_t>(element_count(value)));
    bool are_ordinary = false;
    with_threads(machine_threads(), [&] { are_ordinary = is_ordinary(numbers); });
    return std::string(are_ordinary ? "yes" : "no");
  }) == "yes";
}

}  // namespace

Made make_winograd_conv(const KernelArgs& args) {
  if (args.fusion.rounds_to_bf16) return refuse("it is bf16");
  ConvShape shape(args.index, args.fusion);
  if (!is_possible(args.fusion, shape))
    return refuse("it is not f32 of 3 x 3 without strides, dilations and groups");
  std::optional<std::vector<Step>> steps = steps_of(args.fusion);
  if (!steps) return refuse("no code for a step of the epilogue");
  const std::optional<Tile> tile = tile_of(args, shape);
  if (!tile) return refuse("direct convolution is as fast, or the options turn it off");
  if (!has_ordinary_weights(args)) return refuse("a weight is no number, infinite or very large");
  return made<WinogradConvKernel>(args, std::move(shape), std::move(*steps), *tile);
}

}  // namespace gantry::x86
