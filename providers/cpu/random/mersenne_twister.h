// SPDX-License-Identifier: Apache-2.0
// The sequence of std::mt19937 (MT19937), generated in blocks by vectorizable loops. An instance is
// used by one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gantry::cpu {

class MersenneTwister {
 public:
  explicit MersenneTwister(uint32_t seed) {
    state_[0] = seed;
    for (uint32_t i = 1; i < kWords; ++i)
      state_[i] = 1812433253U * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }

  /// The next `count` numbers.
  void fill(uint32_t* numbers, int64_t count) {
    while (count > 0) {
      if (used_ == kWords) refresh();
      const int64_t n = std::min<int64_t>(count, kWords - used_);
      std::copy_n(tempered_ + used_, n, numbers);
      used_ += static_cast<uint32_t>(n);
      numbers += n;
      count -= n;
    }
  }

 private:
  static constexpr uint32_t kWords = 624;
  static constexpr uint32_t kShift = 397;

  /// A word from its predecessor's highest bit, its own lower ones, and a word further on.
  static uint32_t twist(uint32_t high, uint32_t low, uint32_t far) {
    const uint32_t mixed = (high & 0x80000000U) | (low & 0x7FFFFFFFU);
    return far ^ (mixed >> 1) ^ ((0U - (low & 1U)) & 0x9908B0DFU);
  }

  void refresh() {
    // Each loop reads words that it does not write, or that it wrote far enough back.
    constexpr uint32_t kNear = kWords - kShift;
#pragma GCC ivdep
    for (uint32_t i = 0; i < kNear; ++i)
      state_[i] = twist(state_[i], state_[i + 1], state_[i + kShift]);
#pragma GCC ivdep
    for (uint32_t i = kNear; i < 2 * kNear; ++i)
      state_[i] = twist(state_[i], state_[i + 1], state_[i - kNear]);
#pragma GCC ivdep
    for (uint32_t i = 2 * kNear; i < kWords - 1; ++i)
      state_[i] = twist(state_[i], state_[i + 1], state_[i - kNear]);
    state_[kWords - 1] = twist(state_[kWords - 1], state_[0], state_[kShift - 1]);
    for (uint32_t i = 0; i < kWords; ++i) tempered_[i] = temper(state_[i]);
    used_ = 0;
  }
  static uint32_t temper(uint32_t x) {
    x ^= x >> 11;
    x ^= (x << 7) & 0x9D2C5680U;
    x ^= (x << 15) & 0xEFC60000U;
    return x ^ (x >> 18);
  }

  uint32_t state_[kWords];
  uint32_t tempered_[kWords];
  uint32_t used_ = kWords;
};

}  // namespace gantry::cpu
