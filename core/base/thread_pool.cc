// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <sched.h>
#include <utility>

#include "base/cpu_quota.h"
#include "base/pool_workers.h"

// oneTBB is not built for the thread sanitizer, which therefore does not see that a part starts
// after the caller's earlier writes and ends before the caller's later reads. These macros tell it.
// The code of oneTBB's headers in this file is not instrumented either (core/CMakeLists.txt), as
// half of its synchronization would look like races.
#if defined(GANTRY_HAS_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#define GANTRY_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define GANTRY_TSAN_RELEASE(address) __tsan_release(address)
#else
#define GANTRY_TSAN_ACQUIRE(address) static_cast<void>(address)
#define GANTRY_TSAN_RELEASE(address) static_cast<void>(address)
#endif

namespace gantry {
namespace {

thread_local bool is_part = false;  // this thread runs a part of a parallel_for
thread_local const ThreadTeam* entered = nullptr;
std::atomic<int> runs_in_flight = 0;  // runs of teams of several threads

/// Parts of one parallel_for.
constexpr int64_t kMostParts = 512;

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Spins on a worker that waits for the next run.
void await_run(std::chrono::steady_clock::time_point end) noexcept {
  while (runs_in_flight.load(std::memory_order_relaxed) == 0 &&
         std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 8; ++i) relax();
  }
}

// Cost of the pool's first use in a process: setting it up and waking a worker. Less work than that
// is not shared.
constexpr std::chrono::microseconds kAlone{1000};

// Calls body(0), body(1), ... on this thread until they have taken kAlone; returns how many.
int64_t run_alone(int64_t count, const std::function<void(int64_t)>& body) {
  namespace arena = oneapi::tbb::this_task_arena;
  const auto end = std::chrono::steady_clock::now() + kAlone;
  int64_t done = 0;
  for (; done < count && std::chrono::steady_clock::now() < end; ++done) {
    // A thread outside any arena cannot begin another body while it waits, so it needs no
    // isolation.
    if (arena::current_thread_index() == oneapi::tbb::task_arena::not_initialized) {
      body(done);
    } else {
      arena::isolate([&] { body(done); });
    }
  }
  return done;
}

}  // namespace

uint32_t hardware_threads() noexcept {
  static const uint32_t count = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1U;
    const int there = std::max(1, CPU_COUNT(&set));
    try {
      const double quota = std::ceil(cpu_quota().value_or(there));
      return static_cast<uint32_t>(std::clamp(quota, 1.0, static_cast<double>(there)));
    } catch (...) {  // no memory to read the quota
      return static_cast<uint32_t>(there);
    }
  }();
  return count;
}

void for_each_on_own_threads(int64_t count, const std::function<void(int64_t)>& body) {
  std::atomic<int64_t> next = run_alone(count, body);
  const auto parts = std::min<int64_t>(count - next, hardware_threads());
  char fork = 0;
  char join = 0;
  std::atomic<bool> has_thrown = false;
  const auto call = [&](int64_t i) {
    try {
      body(i);
    } catch (...) {
      has_thrown = true;
      throw;
    }
  };
  const auto take_some = [&](int64_t /*part*/) {
    GANTRY_TSAN_ACQUIRE(&fork);
    for (int64_t i = next++; i < count; i = next++)
      oneapi::tbb::this_task_arena::isolate([&] { call(i); });
    GANTRY_TSAN_RELEASE(&join);
  };
  GANTRY_TSAN_RELEASE(&fork);
  if (parts > 1) {
    try {
      const PoolWorkers workers(static_cast<uint32_t>(parts) - 1);
      oneapi::tbb::task_arena arena(static_cast<int>(workers.lent()) + 1);
      arena.execute([&] {
        oneapi::tbb::parallel_for(int64_t{0}, parts, take_some, oneapi::tbb::static_partitioner());
      });
    } catch (...) {
      if (has_thrown) throw;
      take_some(0);  // the pool has no thread or no memory for its tasks
    }
  } else {
    take_some(0);
  }
  GANTRY_TSAN_ACQUIRE(&join);
}

struct ThreadTeam::Arena : oneapi::tbb::task_scheduler_observer {
  const PoolWorkers pool;  // declared before the arena, which requests the workers
  oneapi::tbb::task_arena arena;
  std::atomic<int> workers = 0;  // workers in the arena, which look for work and are not blocked

  explicit Arena(uint32_t threads) : task_scheduler_observer(arena), pool(threads - 1) {
    arena.initialize(static_cast<int>(pool.lent()) + 1);
    observe(true);
  }
  ~Arena() override { observe(false); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void on_scheduler_entry(bool is_worker) override { workers += is_worker ? 1 : 0; }
  void on_scheduler_exit(bool is_worker) override { workers -= is_worker ? 1 : 0; }

  // Lets the workers in the arena spin. A worker that is blocked already is not woken: waking it
  // costs as much as the spin would save.
  void keep_spinning() noexcept {
    const auto end = std::chrono::steady_clock::now() + kSpin;
    try {
      for (int i = workers.load(std::memory_order_relaxed); i > 0; --i)
        arena.enqueue([end] { await_run(end); });
    } catch (const std::exception&) {
      // No memory for the tasks: the workers block, and the next run starts a little later.
    }
  }
};

ThreadTeam::ThreadTeam(uint32_t threads) : threads_(std::max(threads, 1U)) {
  if (threads_ == 1) return;
  arena_ = std::make_unique<Arena>(threads_);
  threads_ = arena_->pool.lent() + 1;
}

ThreadTeam::~ThreadTeam() = default;

void ThreadTeam::enter(void (*body)(void* arg), void* arg) {
  if (!arena_) return body(arg);
  struct InFlight {
    Arena& arena;
    explicit InFlight(Arena& arena) : arena(arena) { ++runs_in_flight; }
    ~InFlight() {
      if (--runs_in_flight == 0) arena.keep_spinning();
    }
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;
  };
  const InFlight in_flight(*arena_);
  arena_->arena.execute([&] {
    // A nested run (of a session that a kernel uses) enters its own team and returns to this one.
    struct Entered {
      const ThreadTeam* before;
      ~Entered() { entered = before; }
    };
    const Entered restore{std::exchange(entered, this)};
    body(arg);
  });
}

void ThreadTeam::parallel_for(int64_t count, int64_t grain,
                              void (*body)(void* arg, int64_t begin, int64_t end),
                              void* arg) noexcept {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t parts =
      std::min({int64_t{threads_}, kMostParts, count / grain + (count % grain != 0 ? 1 : 0)});
  if (parts <= 1 || is_part || entered != this) {
    body(arg, 0, count);
    return;
  }
  const int64_t share = std::max<int64_t>(grain, count / parts + (count % parts != 0 ? 1 : 0));
  char fork = 0;
  char join = 0;
  std::array<bool, kMostParts> has_run;
  std::fill_n(has_run.begin(), parts, false);
  const auto run_part = [&](int64_t part) {
    GANTRY_TSAN_ACQUIRE(&fork);
    has_run[static_cast<size_t>(part)] = true;
    const int64_t begin = share * part;
    const int64_t end = std::min(count, begin + share);
    is_part = true;
    if (begin < end) body(arg, begin, end);
    is_part = false;
    GANTRY_TSAN_RELEASE(&join);
  };
  GANTRY_TSAN_RELEASE(&fork);
  try {
    oneapi::tbb::parallel_for(int64_t{0}, parts, run_part, oneapi::tbb::static_partitioner());
  } catch (const std::exception&) {
    // The pool has no thread or no memory for its tasks (`body` does not throw). No task is running
    // any more; the remaining parts run here.
    for (int64_t part = 0; part < parts; ++part) {
      if (!has_run[static_cast<size_t>(part)]) run_part(part);
    }
  }
  GANTRY_TSAN_ACQUIRE(&join);
}

}  // namespace gantry
