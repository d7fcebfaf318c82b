// SPDX-License-Identifier: Apache-2.0
// The one thread pool of the process: oneTBB's workers, shared by all sessions. A part that no
// worker has begun is run by whoever waits for it, so a busy machine slows a run down no more than
// its share. Any thread.
#pragma once

#include <cstdint>

namespace gantry {

/// Threads that the process may use: the cores in its affinity mask.
uint32_t hardware_threads() noexcept;

/// Calls body(arg, begin, end) on disjoint ranges that cover [0, count), each at least `grain`
/// items but the last, on at most `threads` threads, the caller's among them; returns when all are
/// done. Nested calls run in the caller. Bodies must not throw.
void parallel_for(uint32_t threads, int64_t count, int64_t grain,
                  void (*body)(void* arg, int64_t begin, int64_t end), void* arg) noexcept;

}  // namespace gantry
