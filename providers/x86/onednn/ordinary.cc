// SPDX-License-Identifier: Apache-2.0
#include "onednn/ordinary.h"

#include <atomic>
#include <bit>
#include <cstdint>

#include "onednn/threads.h"
#include "simd/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "onednn/ordinary.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The upper 16 bits of an f32, which are a bf16, hold the sign, the exponent and part of the
// significand.
constexpr uint32_t kSign = 0x80000000;
constexpr uint32_t kLimit = std::bit_cast<uint32_t>(0x1p50F);

/// `T`: uint32_t for the bits of f32, uint16_t for those of bf16.
template <class T>
bool are_all_below(const T* bits, int64_t count) {
  constexpr int kCut = 32 - static_cast<int>(sizeof(T)) * 8;
  constexpr T kOwnSign = static_cast<T>(kSign >> kCut);
  constexpr T kToSign = static_cast<T>((kSign - kLimit) >> kCut);
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto magnitude = hn::Set(d, static_cast<T>(~kOwnSign));
  const auto to_sign = hn::Set(d, kToSign);
  // A magnitude that reaches the limit carries into the sign bit, which is checked once, at the
  // end.
  const auto carried = [&](const T* from) HWY_ATTR {
    return hn::Add(hn::And(hn::LoadU(d, from), magnitude), to_sign);
  };
  auto first = hn::Zero(d);
  auto second = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    first = hn::Or(first, carried(bits + i));
    second = hn::Or(second, carried(bits + i + lanes));
  }
  T rest = 0;
  for (; i < count; ++i)
    rest = static_cast<T>(rest | static_cast<T>((bits[i] & static_cast<T>(~kOwnSign)) + kToSign));
  const auto signs = hn::And(hn::Or(first, second), hn::Set(d, kOwnSign));
  return (rest & kOwnSign) == 0 && hn::AllTrue(d, hn::Eq(signs, hn::Zero(d)));
}

bool are_floats_below(const uint32_t* bits, int64_t count) { return are_all_below(bits, count); }
bool are_bf16_below(const uint16_t* bits, int64_t count) { return are_all_below(bits, count); }

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {
namespace {

HWY_EXPORT(are_floats_below);
HWY_EXPORT(are_bf16_below);

/// True if are_below(begin, end) is true of all parts.
template <class AreBelow>
bool are_all(int64_t count, const AreBelow& are_below) {
  constexpr int64_t kGrainElements = 1 << 16;
  keep_to_allowed_instructions();
  if (count <= kGrainElements) return are_below(0, count);
  std::atomic<bool> are_all = true;
  for_ranges(count, kGrainElements, [&](int64_t begin, int64_t end) {
    if (are_all.load(std::memory_order_relaxed) && !are_below(begin, end))
      are_all.store(false, std::memory_order_relaxed);
  });
  return are_all;
}

}  // namespace

bool is_ordinary(std::span<const float> numbers) {
  using Bits [[gnu::may_alias]] = uint32_t;
  const auto* bits = reinterpret_cast<const Bits*>(numbers.data());
  return are_all(static_cast<int64_t>(numbers.size()), [&](int64_t begin, int64_t end) {
    return HWY_DYNAMIC_DISPATCH(are_floats_below)(bits + begin, end - begin);
  });
}

bool is_ordinary(const dnnl::memory& numbers) {
  const dnnl::memory::desc desc = numbers.get_desc();
  const void* data = numbers.get_data_handle();
  const size_t bytes = desc.get_size();
  if (desc.get_data_type() != dnnl::memory::data_type::bf16)
    return is_ordinary({static_cast<const float*>(data), bytes / sizeof(float)});
  const auto* bits = static_cast<const uint16_t*>(data);
  return are_all(static_cast<int64_t>(bytes / sizeof(uint16_t)), [&](int64_t begin, int64_t end) {
    return HWY_DYNAMIC_DISPATCH(are_bf16_below)(bits + begin, end - begin);
  });
}

}  // namespace gantry::x86
#endif
