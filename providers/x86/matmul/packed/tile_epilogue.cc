// SPDX-License-Identifier: Apache-2.0
#include "matmul/packed/tile_epilogue.h"

#include <algorithm>
#include <array>
#include <limits>

namespace gantry::x86 {
namespace {

constexpr uint32_t kResult = 0;
constexpr uint32_t kAddend = 1;
constexpr uint32_t kFree = 2;

// Appends the activation's instructions. False: there is no code for it.
bool append(const Activation& activation, std::vector<Instruction>& to) {
  using dnnl::algorithm;
  const auto& [function, alpha, beta] = activation;
  const auto add = [&, alpha = alpha, beta = beta](Operation operation) {
    to.push_back({operation, kResult, 0, kResult, alpha, beta});
    return true;
  };
  switch (function) {
    case algorithm::eltwise_relu:
      return add(alpha == 0 ? Operation::kRelu : Operation::kLeakyRelu);
    case algorithm::eltwise_clip:
      return add(Operation::kClip);
    case algorithm::eltwise_logistic:
      return add(Operation::kSigmoid);
    case algorithm::eltwise_tanh:
      return add(Operation::kTanh);
    case algorithm::eltwise_gelu_tanh:
      return add(Operation::kGelu);
    case algorithm::eltwise_gelu_erf:
      return add(Operation::kGeluErf);
    case algorithm::eltwise_hardsigmoid:
      return add(Operation::kHardSigmoid);
    case algorithm::eltwise_hardswish:
      return add(Operation::kHardSwish);
    case algorithm::eltwise_swish:
      if (alpha != 1) return false;
      to.push_back({Operation::kSigmoid, kResult, 0, kFree});
      to.push_back({Operation::kMul, kResult, kFree, kResult});
      return true;
    default:
      return false;
  }
}

bool adds_first(const Epilogue& epilogue) {
  return !epilogue.steps.empty() && epilogue.steps.front().addend != GANTRY_NONE;
}

std::optional<TileEpilogue::Bounds> bounds_of(const std::vector<Instruction>& steps) {
  using Bounds = TileEpilogue::Bounds;
  if (steps.size() != 1) return std::nullopt;
  const Instruction& step = steps.front();
  if (step.operation == Operation::kRelu) return Bounds{0, std::numeric_limits<float>::infinity()};
  if (step.operation == Operation::kClip) return Bounds{step.alpha, step.beta};
  return std::nullopt;
}

using Steps = std::vector<Instruction>;

/// Applies the steps on copies, because whole steps of kTileStep would exceed target and addend.
void finish_apart(const Steps& steps, float* target, const float* addend, int64_t count) {
  std::array<std::array<float, TileEpilogue::kMostColumns>, 3> buffers{};
  std::copy_n(target, count, buffers[kResult].begin());
  if (addend) std::copy_n(addend, count, buffers[kAddend].begin());
  float* slots[] = {buffers[kResult].data(), buffers[kAddend].data(), buffers[kFree].data()};
  run_instructions(steps, slots, count);
  std::copy_n(buffers[kResult].begin(), count, target);
}

}  // namespace

std::optional<std::vector<Instruction>> matmul_epilogue_of(const Epilogue& epilogue) {
  std::vector<Instruction> steps;
  for (size_t i = adds_first(epilogue) ? 1 : 0; i < epilogue.steps.size(); ++i) {
    const EpilogueStep& step = epilogue.steps[i];
    if (step.rounding) return std::nullopt;
    if (!step.activation) {
      steps.push_back({Operation::kAdd, kResult, kAddend, kResult});
    } else if (!append(*step.activation, steps)) {
      return std::nullopt;
    }
  }
  return steps;
}

TileEpilogue::TileEpilogue(const Epilogue& epilogue)
    : adds_first_(x86::adds_first(epilogue)),
      steps_(matmul_epilogue_of(epilogue).value()),
      bounds_(bounds_of(steps_)) {
  adds_later_ = std::any_of(steps_.begin(), steps_.end(), [](const Instruction& step) {
    return step.operation == Operation::kAdd && step.b == kAddend;
  });
}

const float* TileEpilogue::kept_addend(sdk::Call& call, const float* addend, const float* target,
                                       int64_t count) const {
  if (!adds_later_ || addend != target) return addend;
  auto* kept = call.scratch<float>(count);
  std::copy_n(addend, count, kept);
  return kept;
}

void TileEpilogue::finish(float* target, const float* addend, int64_t count) const {
  if (!adds_later_) addend = nullptr;
  if (count % kTileStep != 0) return finish_apart(steps_, target, addend, count);
  std::array<float, kMostColumns> free;
  float* slots[] = {target, const_cast<float*>(addend), free.data()};
  run_instructions(steps_, slots, count);
}

}  // namespace gantry::x86
