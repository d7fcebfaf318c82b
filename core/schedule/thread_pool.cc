// SPDX-License-Identifier: Apache-2.0
#include "schedule/thread_pool.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>

// libgomp is not built for the thread sanitizer, which therefore does not see that a region begins after what its caller did
// before it and ends before what its caller does after it. These say so.
#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#define GANTRY_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define GANTRY_TSAN_RELEASE(address) __tsan_release(address)
#else
#define GANTRY_TSAN_ACQUIRE(address) static_cast<void>(address)
#define GANTRY_TSAN_RELEASE(address) static_cast<void>(address)
#endif

namespace gantry {

uint32_t hardware_threads() noexcept {
  static const uint32_t count = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1U;
    return static_cast<uint32_t>(std::max(1, CPU_COUNT(&set)));
  }();
  return count;
}

void parallel_for(uint32_t threads, int64_t count, int64_t grain, void (*body)(void* arg, int64_t begin, int64_t end),
                  void* arg) noexcept {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t parts = std::min<int64_t>(threads, count / grain + (count % grain != 0 ? 1 : 0));
  if (parts <= 1 || omp_in_parallel()) {
    body(arg, 0, count);
    return;
  }
  char fork = 0;
  char join = 0;
  GANTRY_TSAN_RELEASE(&fork);
#pragma omp parallel num_threads(static_cast<int>(parts))
  {
    GANTRY_TSAN_ACQUIRE(&fork);
    // The runtime may give fewer threads than asked for; whoever is there shares all parts.
    const int64_t team = omp_get_num_threads();
    const int64_t share = std::max<int64_t>(grain, (count + team - 1) / team);
    const int64_t begin = std::min<int64_t>(count, share * omp_get_thread_num());
    const int64_t end = std::min<int64_t>(count, begin + share);
    if (begin < end) body(arg, begin, end);
    GANTRY_TSAN_RELEASE(&join);
  }
  GANTRY_TSAN_ACQUIRE(&join);
}

}  // namespace gantry
