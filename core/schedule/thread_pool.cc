// SPDX-License-Identifier: Apache-2.0
#include "schedule/thread_pool.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <sched.h>
#include <vector>

// oneTBB is not built for the thread sanitizer, which therefore does not see that a part begins
// after what its caller did before and ends before what its caller does afterwards. These say so.
// Nor is what its headers leave in this file (core/CMakeLists.txt): half of what its two sides do
// with a task would look like a race.
#if defined(GANTRY_HAS_THREAD_SANITIZER)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#define GANTRY_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define GANTRY_TSAN_RELEASE(address) __tsan_release(address)
#else
#define GANTRY_TSAN_ACQUIRE(address) static_cast<void>(address)
#define GANTRY_TSAN_RELEASE(address) static_cast<void>(address)
#endif

namespace gantry {
namespace {

thread_local bool is_inside = false;

// One arena for each width that somebody asked for; all share the process's workers.
oneapi::tbb::task_arena& arena_of(uint32_t threads) {
  static std::mutex mutex;
  // outlives threads that still run at exit
  static auto& arenas = *new std::vector<std::unique_ptr<oneapi::tbb::task_arena>>;
  const std::lock_guard lock(mutex);
  if (arenas.size() <= threads) arenas.resize(threads + 1);
  if (!arenas[threads])
    arenas[threads] = std::make_unique<oneapi::tbb::task_arena>(static_cast<int>(threads));
  return *arenas[threads];
}

}  // namespace

uint32_t hardware_threads() noexcept {
  static const uint32_t count = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1U;
    return static_cast<uint32_t>(std::max(1, CPU_COUNT(&set)));
  }();
  return count;
}

void parallel_for(uint32_t threads, int64_t count, int64_t grain,
                  void (*body)(void* arg, int64_t begin, int64_t end), void* arg) noexcept {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t parts = std::min<int64_t>(threads, count / grain + (count % grain != 0 ? 1 : 0));
  if (parts <= 1 || is_inside) {
    body(arg, 0, count);
    return;
  }
  const int64_t share = std::max<int64_t>(grain, count / parts + (count % parts != 0 ? 1 : 0));
  char fork = 0;
  char join = 0;
  const auto run_part = [&](int64_t part) {
    GANTRY_TSAN_ACQUIRE(&fork);
    const int64_t begin = share * part;
    const int64_t end = std::min(count, begin + share);
    is_inside = true;
    if (begin < end) body(arg, begin, end);
    is_inside = false;
    GANTRY_TSAN_RELEASE(&join);
  };
  GANTRY_TSAN_RELEASE(&fork);
  arena_of(static_cast<uint32_t>(parts)).execute([&] {
    oneapi::tbb::parallel_for(int64_t{0}, parts, run_part, oneapi::tbb::static_partitioner());
  });
  GANTRY_TSAN_ACQUIRE(&join);
}

}  // namespace gantry
