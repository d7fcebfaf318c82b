// SPDX-License-Identifier: Apache-2.0
#include "matmul/packed/storage_dtype.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>

#include "onednn/threads.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kChunk = 1 << 14;
constexpr uint32_t kMantissaBits = 23, kHalfMantissaBits = 10;
constexpr uint32_t kDropped = kMantissaBits - kHalfMantissaBits;
// Biased f32 exponents: the least and largest of normal f16, and that of the least denormal f16.
constexpr uint32_t kLeastExponent = 113, kMostExponent = 142, kSmallestExponent = 103;

uint32_t exponent_of(uint32_t bits) { return bits >> kMantissaBits & 0xffU; }

bool fits_brain(uint32_t bits) { return (bits & 0xffffU) == 0; }

/// Low bits of the f32 significand that f16 lacks; more of them for denormal f16.
uint32_t dropped_bits(uint32_t exponent) {
  return kDropped + (exponent < kLeastExponent ? kLeastExponent - exponent : 0);
}

bool fits_half(uint32_t bits) {
  if (bits << 1U == 0) return true;
  const uint32_t exponent = exponent_of(bits);
  if (exponent < kSmallestExponent || exponent > kMostExponent) return false;
  const uint32_t significand = (bits & ((1U << kMantissaBits) - 1U)) | 1U << kMantissaBits;
  return (significand & ((1U << dropped_bits(exponent)) - 1U)) == 0;
}

/// True of f32 bits that are exactly a normal f16 or zero.
bool fits_normal_half(uint32_t bits) {
  const uint32_t exponent = exponent_of(bits);
  const bool is_normal = exponent - kLeastExponent <= kMostExponent - kLeastExponent;
  return static_cast<bool>((static_cast<unsigned>(is_normal) &
                            static_cast<unsigned>((bits & ((1U << kDropped) - 1U)) == 0)) |
                           static_cast<unsigned>(bits << 1U == 0));
}

struct Fit {
  bool brain = true;
  bool half = true;
};

/// Checks kBlock elements in loops without branches, which the compiler vectorises.
constexpr int64_t kBlock = 256;
void look_at_block(const uint32_t* bits, Fit& fit) {
  uint32_t all = 0;
  unsigned is_normal = 1;
  for (int64_t i = 0; i < kBlock; ++i) {
    all |= bits[i];
    is_normal &= static_cast<unsigned>(fits_normal_half(bits[i]));
  }
  fit.brain = fit.brain && fits_brain(all);
  if (fit.half && is_normal == 0) fit.half = std::all_of(bits, bits + kBlock, fits_half);
}

uint16_t half_of(uint32_t bits) {
  const uint32_t sign = bits >> 16U & 0x8000U;
  const uint32_t exponent = exponent_of(bits);
  if (exponent == 0) return static_cast<uint16_t>(sign);
  const uint32_t mantissa = bits & ((1U << kMantissaBits) - 1U);
  if (exponent >= kLeastExponent) {
    const uint32_t own = exponent - kLeastExponent + 1;
    return static_cast<uint16_t>(sign | own << kHalfMantissaBits | mantissa >> kDropped);
  }
  return static_cast<uint16_t>(sign | (mantissa | 1U << kMantissaBits) >> dropped_bits(exponent));
}

}  // namespace

StorageDtype narrowest_dtype(const void* floats, int64_t count) {
  const auto* from = static_cast<const std::byte*>(floats);
  std::atomic<bool> is_bf16{true};
  std::atomic<bool> is_half{true};
  const auto look = [&](int64_t chunk) {
    Fit fit{is_bf16.load(std::memory_order_relaxed), is_half.load(std::memory_order_relaxed)};
    const int64_t end = std::min(count, (chunk + 1) * kChunk);
    for (int64_t i = chunk * kChunk; i < end && (fit.brain || fit.half); i += kBlock) {
      uint32_t bits[kBlock] = {};  // zeros fit
      const auto size_bytes = static_cast<size_t>(std::min(kBlock, end - i)) * sizeof(uint32_t);
      std::memcpy(bits, from + i * int64_t{sizeof(uint32_t)}, size_bytes);
      look_at_block(bits, fit);
    }
    if (!fit.brain) is_bf16.store(false, std::memory_order_relaxed);
    if (!fit.half) is_half.store(false, std::memory_order_relaxed);
  };
  look(0);  // the first chunk decides for most matrices
  if (is_bf16 || is_half) {
    with_threads(machine_threads(), [&] { for_each((count + kChunk - 1) / kChunk, look); });
  }
  if (is_bf16) return StorageDtype::kBf16;
  return is_half ? StorageDtype::kF16 : StorageDtype::kFloat;
}

void narrow(const float* floats, int64_t count, StorageDtype dtype, uint16_t* target) {
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<uint32_t>(floats[i]);
    target[i] = dtype == StorageDtype::kBf16 ? static_cast<uint16_t>(bits >> 16U) : half_of(bits);
  }
}

}  // namespace gantry::x86
