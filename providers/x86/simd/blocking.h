// SPDX-License-Identifier: Apache-2.0
// What the blocking of loops is decided by: how many blocks an extent has, and how much the second
// cache holds. Pure functions, from any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unistd.h>

namespace gantry::x86 {

/// x / by, rounded up. Requires numbers that are not negative, and `by` above 0.
constexpr int64_t divided_up(int64_t x, int64_t by) { return (x + by - 1) / by; }

/// Of a core's second cache; 256 KiB where the system does not say.
inline int64_t second_cache_bytes() {
  static const int64_t bytes = std::max<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 256 << 10);
  return bytes;
}

}  // namespace gantry::x86
