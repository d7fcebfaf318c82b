// SPDX-License-Identifier: Apache-2.0
// The layout of the mapped file of crash_marks, which a process writes and a later process reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

namespace gantry {

inline constexpr const char* kMarkFolder = "running";

struct MarkFile {
  static constexpr uint64_t kMagic = 0x326b72616d746e67;  // "gntmark2"
  static constexpr int64_t kNotKnown = std::numeric_limits<int64_t>::max();
  struct Provider {
    std::array<char, 64> name = {};  // a longer name is truncated
    std::array<char, 448> library = {};
  };
  struct alignas(64) Cell {  // of one thread or context: no two share a cache line
    std::atomic<uint64_t> mark{0};
  };

  uint64_t magic = kMagic;
  int64_t process = 0;
  // State of the Linux kernel when the process began (base/linux_state.h).
  std::array<char, 48> boot = {};
  int64_t memory_kills = kNotKnown;
  std::array<Provider, 32> providers = {};
  std::array<Cell, 64> cells = {};
};

/// Path of the mark file of this process; empty: none.
std::string own_mark_file();

static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace gantry
