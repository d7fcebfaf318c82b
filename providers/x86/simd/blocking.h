// SPDX-License-Identifier: Apache-2.0
// Helpers for loop blocking: number of blocks, size of the L2 cache. Pure functions, from any
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unistd.h>

namespace gantry::x86 {

/// x / by, rounded up. Requires x >= 0 and by > 0.
constexpr int64_t divided_up(int64_t x, int64_t by) { return (x + by - 1) / by; }

/// Size of a core's L2 cache; at least 256 KiB, also if the system does not say.
inline int64_t second_cache_bytes() {
  static const int64_t bytes = std::max<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 256 << 10);
  return bytes;
}

}  // namespace gantry::x86
