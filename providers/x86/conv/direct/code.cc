// SPDX-License-Identifier: Apache-2.0
#include "conv/direct/code.h"

namespace gantry::x86 {

std::optional<std::vector<TileStep>> tile_steps_of(const Epilogue& epilogue) {
  using dnnl::algorithm;
  using Kind = TileStep::Kind;
  std::vector<TileStep> steps;
  for (const EpilogueStep& step : epilogue.steps) {
    if (step.rounding) return std::nullopt;
    if (!step.activation) {
      steps.push_back({Kind::kAdd, 0, 0});
      continue;
    }
    const auto& [function, alpha, beta] = *step.activation;
    if (function == algorithm::eltwise_relu) {
      steps.push_back({Kind::kRelu, alpha, 0});
    } else if (function == algorithm::eltwise_clip) {
      steps.push_back({Kind::kClip, alpha, beta});
    } else if (function == algorithm::eltwise_hardsigmoid) {
      steps.push_back({Kind::kHardSigmoid, alpha, beta});
    } else if (function == algorithm::eltwise_hardswish) {
      steps.push_back({Kind::kHardSwish, alpha, beta});
    } else if (function == algorithm::eltwise_logistic) {
      steps.push_back({Kind::kSigmoid, 0, 0});
    } else if (function == algorithm::eltwise_swish) {
      steps.push_back({Kind::kSwish, alpha, 0});
    } else {
      return std::nullopt;
    }
  }
  return steps;
}

}  // namespace gantry::x86
