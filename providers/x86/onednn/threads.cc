// SPDX-License-Identifier: Apache-2.0
#include "onednn/threads.h"

#include <gantry/sdk/mutex.h>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <vector>

// ThreadSanitizer does not see oneTBB's synchronisation between a caller and the threads that run
// its body. These annotations declare it. Code of oneTBB's headers in this file is not instrumented
// either (CMakeLists.txt).
#if defined(GANTRY_HAS_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#define GANTRY_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define GANTRY_TSAN_RELEASE(address) __tsan_release(address)
#else
#define GANTRY_TSAN_ACQUIRE(address) static_cast<void>(address)
#define GANTRY_TSAN_RELEASE(address) static_cast<void>(address)
#endif

namespace gantry::x86 {
namespace {

namespace tbb = oneapi::tbb;

// Happens-before edges from the caller to other threads and back.
class Handover {
 public:
  Handover() { GANTRY_TSAN_RELEASE(&there_); }
  ~Handover() { GANTRY_TSAN_ACQUIRE(&back_); }
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  // On another thread, around a body.
  class Taken {
   public:
    explicit Taken(Handover& handover) : handover_(handover) {
      GANTRY_TSAN_ACQUIRE(&handover_.there_);
    }
    ~Taken() { GANTRY_TSAN_RELEASE(&handover_.back_); }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;

   private:
    Handover& handover_;
  };

 private:
  char there_ = 0;
  char back_ = 0;
};

std::unique_ptr<tbb::task_arena> make_arena(int threads) {
  const FlushDenormals flush;  // workers inherit the floating-point mode of the creating thread
  auto arena = std::make_unique<tbb::task_arena>(threads);
  arena->initialize();
  return arena;
}

// An arena admits as many callers at a time as it has threads, but at least two; others wait. So
// single-threaded runs have an arena for each calling thread.
tbb::task_arena& arena(int threads) {
  if (threads == 1) {
    thread_local const std::unique_ptr<tbb::task_arena> own = make_arena(1);
    return *own;
  }
  static sdk::Mutex mutex;
  static auto* const all GANTRY_PT_GUARDED_BY(mutex) =
      new std::vector<std::unique_ptr<tbb::task_arena>>;
  const sdk::MutexLock lock(mutex);
  std::vector<std::unique_ptr<tbb::task_arena>>& arenas = *all;  // by threads
  const auto index = static_cast<size_t>(threads);
  if (arenas.size() <= index) arenas.resize(index + 1);
  if (!arenas[index]) arenas[index] = make_arena(threads);
  return *arenas[index];
}

}  // namespace

int machine_threads() { return tbb::info::default_concurrency(); }

int thread_number() {
  const int number = tbb::this_task_arena::current_thread_index();
  return number == tbb::task_arena::not_initialized ? 0 : number;
}

// If the caller is in an arena of that many threads already, as the host's runs are, that arena is
// used: workers would be slow to migrate to another.
void call_with_threads(int threads, void (*body)(void* arg), void* arg) {
  const FlushDenormals flush;
  Handover handover;
  const auto take = [&] {
    const Handover::Taken taken(handover);
    body(arg);
  };
  const bool is_inside =
      tbb::this_task_arena::current_thread_index() != tbb::task_arena::not_initialized &&
      tbb::this_task_arena::max_concurrency() == threads;
  if (!is_inside) return arena(threads).execute(take);
  // The task group's context overrides the arena's floating-point mode.
  tbb::task_group_context context(tbb::task_group_context::isolated);
  context.capture_fp_settings();
  tbb::parallel_for(
      0, 1, 1, [&](int) { take(); }, tbb::simple_partitioner(), context);
}

void call_for_ranges(int64_t count, int64_t grain,
                     void (*body)(const void* arg, int64_t begin, int64_t end), const void* arg) {
  Handover handover;
  tbb::parallel_for(
      tbb::blocked_range<int64_t>(0, count, grain),
      [&](const tbb::blocked_range<int64_t>& range) {
        const Handover::Taken taken(handover);
        body(arg, range.begin(), range.end());
      },
      tbb::simple_partitioner());
}

}  // namespace gantry::x86
