// SPDX-License-Identifier: Apache-2.0
// What the stand-in for the driver counts; a test finds it by the function gantry_fake_counters of
// the library.
#pragma once

#include <atomic>
#include <cstdint>

namespace gantry::test {

/// Of a device's cache of the second level.
constexpr int kCacheBytes = 1 << 20;

struct FakeCounters {
  std::atomic<int64_t> contexts{0};         ///< that exist
  std::atomic<int64_t> streams{0};          ///< likewise
  std::atomic<int64_t> events{0};           ///< likewise
  std::atomic<int64_t> modules{0};          ///< likewise
  std::atomic<int64_t> graphs{0};           ///< likewise, that can be launched
  std::atomic<int64_t> pinned_blocks{0};    ///< likewise
  std::atomic<uint64_t> device_bytes{0};    ///< of device memory that is handed out
  std::atomic<uint64_t> launches{0};        ///< of kernels, those of graphs too
  std::atomic<uint64_t> early_launches{0};  ///< that may begin before the one before has ended
  std::atomic<uint64_t> copies{0};
  std::atomic<uint64_t> captures{0};
  std::atomic<uint64_t> graph_launches{0};
  std::atomic<uint64_t> trims{0};
  std::atomic<uint64_t> caches_written{0};  ///< times as much memory was filled as a cache holds
  std::atomic<uint64_t> peer_copies{0};     ///< from one device to another
  std::atomic<uint64_t> shared_pools{0};    ///< times a device was let into another's pool
  std::atomic<uint64_t> settled{0};         ///< times a context was waited for
};

}  // namespace gantry::test
