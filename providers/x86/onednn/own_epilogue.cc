// SPDX-License-Identifier: Apache-2.0
#include "onednn/own_epilogue.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <utility>

#include "eltwise/activation_code.h"
#include "onednn/threads.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kGrainElements = 1 << 16;

/// The first 16 bits of a number: sign, exponent and some of its digits.
constexpr uint32_t kSignOfHalf = 0x8000;
constexpr uint32_t kLimitOfHalf = std::bit_cast<uint32_t>(0x1p50F) >> 16;

/// `T`: bits of a number, of which the leading 16 count.
template <class T>
bool are_all_below(const T* bits, int64_t count) {
  constexpr int kBehind = (sizeof(T) - 2) * 8;
  constexpr T kSign = static_cast<T>(kSignOfHalf << kBehind);
  constexpr T kToSign = static_cast<T>((kSignOfHalf - kLimitOfHalf) << kBehind);
  // What reaches the limit carries into the place of the sign: additions are vectors everywhere,
  // comparisons without a sign are not.
  T sums = 0;
  for (int64_t i = 0; i < count; ++i)
    sums = static_cast<T>(sums | static_cast<T>((bits[i] & static_cast<T>(~kSign)) + kToSign));
  return (sums & kSign) == 0;
}

template <class T>
bool are_below(const T* bits, int64_t count) {
  if (count <= kGrainElements) return are_all_below(bits, count);
  std::atomic<bool> are_below = true;
  for_ranges(count, kGrainElements, [&](int64_t begin, int64_t end) {
    if (are_below.load(std::memory_order_relaxed) && !are_all_below(bits + begin, end - begin))
      are_below.store(false, std::memory_order_relaxed);
  });
  return are_below;
}

}  // namespace

bool is_ordinary(std::span<const float> numbers) {
  // Unsigned integers of the same size may be read in place of floats where the compiler is told.
  using Bits [[gnu::may_alias]] = uint32_t;
  return are_below(reinterpret_cast<const Bits*>(numbers.data()),
                   static_cast<int64_t>(numbers.size()));
}

bool is_ordinary(const dnnl::memory& numbers) {
  const dnnl::memory::desc desc = numbers.get_desc();
  const void* data = numbers.get_data_handle();
  const size_t bytes = desc.get_size();
  if (desc.get_data_type() == dnnl::memory::data_type::bf16)
    return are_below(static_cast<const uint16_t*>(data), static_cast<int64_t>(bytes / 2));
  return is_ordinary({static_cast<const float*>(data), bytes / sizeof(float)});
}

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
  for_ranges(
      (count + kTileElements - 1) / kTileElements, kGrainElements / kTileElements,
      [&](int64_t first, int64_t last) {
        for (int64_t tile = first; tile < last; ++tile) {
          const int64_t begin = tile * kTileElements;
          const int64_t elements = std::min(kTileElements, count - begin);
          float* const to = results.data() + begin;
          if (elements % kTileStep == 0) {
            const std::array places = {to, const_cast<float*>(addend) + (addend ? begin : 0)};
            run_instructions(steps_, places.data(), elements);
            continue;
          }
          // More would be read and written.
          std::array<float, kTileElements> own{};
          std::array<float, kTileElements> added{};
          std::copy_n(to, elements, own.data());
          if (addend) std::copy_n(addend + begin, elements, added.data());
          const std::array places = {own.data(), added.data()};
          run_instructions(steps_, places.data(), elements);
          std::copy_n(own.data(), elements, to);
        }
      });
}

}  // namespace gantry::x86
