// SPDX-License-Identifier: Apache-2.0
// Counters of the fake driver, which a test gets by the library's function gantry_fake_counters.
#pragma once

#include <atomic>
#include <cstdint>

namespace gantry::test {

/// Size of a device's L2 cache.
constexpr int kCacheBytes = 1 << 20;

struct FakeCounters {
  std::atomic<int64_t> contexts{0};         ///< existing
  std::atomic<int64_t> streams{0};          ///< likewise
  std::atomic<int64_t> events{0};           ///< likewise
  std::atomic<int64_t> modules{0};          ///< likewise
  std::atomic<int64_t> graphs{0};           ///< existing, instantiated
  std::atomic<int64_t> pinned_blocks{0};    ///< likewise
  std::atomic<uint64_t> device_bytes{0};    ///< allocated device memory
  std::atomic<uint64_t> launches{0};        ///< kernel launches, those of graphs included
  std::atomic<uint64_t> early_launches{0};  ///< with programmatic dependent launch
  std::atomic<uint64_t> copies{0};
  std::atomic<uint64_t> captures{0};
  std::atomic<uint64_t> graph_launches{0};
  std::atomic<uint64_t> trims{0};
  std::atomic<uint64_t> caches_written{0};  ///< fills of the size of the L2 cache
  std::atomic<uint64_t> peer_copies{0};     ///< from one device to another
  std::atomic<uint64_t> shared_pools{0};    ///< times a device was given access to another's pool
  std::atomic<uint64_t> settled{0};         ///< context synchronisations
};

}  // namespace gantry::test
