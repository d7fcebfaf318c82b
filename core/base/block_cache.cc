// SPDX-License-Identifier: Apache-2.0
#include "base/block_cache.h"

#include <array>
#include <cstddef>
#include <cstdlib>

#include "base/fork.h"
#include "base/mutex.h"
#include "base/process_state.h"

namespace gantry {
namespace {

struct Kept {
  void* block;
  uint64_t size_bytes;
};

/// The cached blocks, the oldest first.
struct KeptBlocks {
  static constexpr ProcessState kState = ProcessState::kBlockCache;

  Mutex mutex;
  std::array<Kept, kMostKept / kCachedFrom> blocks GANTRY_GUARDED_BY(mutex);
  size_t count GANTRY_GUARDED_BY(mutex) = 0;
  uint64_t size_bytes GANTRY_GUARDED_BY(mutex) = 0;

  void* remove(size_t index) GANTRY_REQUIRES(mutex) {
    void* block = blocks[index].block;
    size_bytes -= blocks[index].size_bytes;
    --count;
    for (size_t i = index; i < count; ++i) blocks[i] = blocks[i + 1];
    return block;
  }
};

KeptBlocks& kept() { return process_state<KeptBlocks>(); }

}  // namespace

void* take_cached_block(uint64_t size_bytes) noexcept {
  if (size_bytes < kCachedFrom || size_bytes > kMostKept) return nullptr;
  KeptBlocks& all = kept();
  const MutexLock lock(all.mutex);
  // The youngest block is the most likely to be in the CPU cache.
  for (size_t i = all.count; i-- > 0;) {
    if (all.blocks[i].size_bytes == size_bytes) return all.remove(i);
  }
  return nullptr;
}

void cache_block(void* block, uint64_t size_bytes) noexcept {
  if (size_bytes < kCachedFrom || size_bytes > kMostKept || is_forked()) return std::free(block);
  KeptBlocks& all = kept();
  const MutexLock lock(all.mutex);
  while (all.size_bytes + size_bytes > kMostKept) std::free(all.remove(0));
  all.blocks[all.count++] = {block, size_bytes};
  all.size_bytes += size_bytes;
}

void free_kept_blocks() noexcept {
  KeptBlocks& all = kept();
  const MutexLock lock(all.mutex);
  while (all.count > 0) std::free(all.remove(0));
}

}  // namespace gantry
