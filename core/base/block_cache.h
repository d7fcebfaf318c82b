// SPDX-License-Identifier: Apache-2.0
// Large blocks of host memory that tensors gave back, kept for the next of the same size: a run
// that makes what the last one made then gets memory that is mapped already, where new memory would
// be cleared page by page. One for the process. Any thread.
#pragma once

#include <cstdint>

namespace gantry {

/// Blocks below this size, in bytes, are the allocator's.
inline constexpr uint64_t kKeptFrom = uint64_t{256} << 10;
/// Most bytes that are kept; the oldest blocks are freed first.
inline constexpr uint64_t kMostKept = uint64_t{32} << 20;

/// A block of that size that was kept, now the caller's; null if there is none.
void* take_kept_block(uint64_t size_bytes) noexcept;
/// Keeps a block of allocate_host_block of that size, or frees it.
void keep_block(void* block, uint64_t size_bytes) noexcept;
/// Frees all that are kept, for an allocation that failed.
void free_kept_blocks() noexcept;

}  // namespace gantry
