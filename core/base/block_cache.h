// SPDX-License-Identifier: Apache-2.0
// A cache of large blocks of host memory: a block that a tensor frees is reused for the next tensor
// of the same size. A run with the shapes of the last run then gets memory that is mapped already,
// whereas the system would clear new memory page by page. One per process. Any thread.
#pragma once

#include <cstdint>

namespace gantry {

/// Least size of a cached block, in bytes; smaller ones go to the allocator.
inline constexpr uint64_t kCachedFrom = uint64_t{256} << 10;
/// Most bytes in the cache; the oldest blocks are freed first.
inline constexpr uint64_t kMostKept = uint64_t{32} << 20;

/// Takes a block of exactly that size out of the cache; null if there is none.
void* take_cached_block(uint64_t size_bytes) noexcept;
/// Puts a block of allocate_host_block of that size into the cache, or frees it.
void cache_block(void* block, uint64_t size_bytes) noexcept;
/// Frees all cached blocks, after an allocation has failed.
void free_kept_blocks() noexcept;

}  // namespace gantry
