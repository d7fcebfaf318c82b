// SPDX-License-Identifier: Apache-2.0
#include "onednn/own_epilogue.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "eltwise/activation_code.h"
#include "onednn/ordinary.h"
#include "onednn/threads.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kGrainElements = 1 << 16;

}  // namespace

void OwnEpilogue::set(const Fusion& fusion, std::span<const float> bias,
                      std::function<dnnl::memory()> weights) {
  if (fusion.is_quantized()) return;
  weights_ = std::move(weights);
  for (const EpilogueStep& step : fusion.epilogue.steps) {
    if (step.rounding) return;
    if (step.activation) {
      steps_.push_back(instruction_of(*step.activation, 0, 0));
      is_possible_ = true;
    } else {
      steps_.push_back({Operation::kAdd, 0, 1, 0});
    }
  }
  has_ordinary_bias_ =
      std::all_of(bias.begin(), bias.end(), [](float x) { return std::abs(x) < 0x1p50F; });
}

bool OwnEpilogue::is_needed(std::initializer_list<std::span<const float>> operands) const {
  std::call_once(are_weights_read_, [&] {
    if (weights_) has_ordinary_weights_ = is_ordinary(weights_());
  });
  return !has_ordinary_bias_ || !has_ordinary_weights_ ||
         !std::all_of(operands.begin(), operands.end(),
                      [](std::span<const float> operand) { return is_ordinary(operand); });
}

void OwnEpilogue::run(std::span<float> results, const float* addend) const {
  const auto count = static_cast<int64_t>(results.size());
  for_ranges((count + kTileElements - 1) / kTileElements, kGrainElements / kTileElements,
             [&](int64_t first, int64_t last) {
               for (int64_t tile = first; tile < last; ++tile) {
                 const int64_t begin = tile * kTileElements;
                 const int64_t elements = std::min(kTileElements, count - begin);
                 float* const to = results.data() + begin;
                 if (elements % kTileStep == 0) {
                   const std::array slots = {to, const_cast<float*>(addend) + (addend ? begin : 0)};
                   run_instructions(steps_, slots.data(), elements);
                   continue;
                 }
                 // Whole steps of kTileStep would exceed the tensors, so the last tile is copied.
                 std::array<float, kTileElements> own{};
                 std::array<float, kTileElements> added{};
                 std::copy_n(to, elements, own.data());
                 if (addend) std::copy_n(addend + begin, elements, added.data());
                 const std::array slots = {own.data(), added.data()};
                 run_instructions(steps_, slots.data(), elements);
                 std::copy_n(own.data(), elements, to);
               }
             });
}

}  // namespace gantry::x86
