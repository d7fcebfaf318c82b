// SPDX-License-Identifier: Apache-2.0
#include "base/pool_workers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/process_state.h"

namespace gantry {
namespace {

using oneapi::tbb::global_control;

// Upper limit of the pool's threads.
constexpr uint32_t kMostThreads = 256;

struct Workers {
  static constexpr ProcessState kState = ProcessState::kPoolWorkers;

  Mutex mutex;
  uint32_t wanted GANTRY_GUARDED_BY(mutex) = 0;  // sum over all PoolWorkers
  uint32_t tried GANTRY_GUARDED_BY(mutex) = 0;   // number that could be started in the last test
  bool has_warned GANTRY_GUARDED_BY(mutex) = false;
  std::unique_ptr<global_control> more GANTRY_GUARDED_BY(mutex);   // null: one for each core
  std::unique_ptr<global_control> limit GANTRY_GUARDED_BY(mutex);  // null: all could be made
};

std::unique_ptr<global_control> most_threads(uint32_t count) {
  return std::make_unique<global_control>(global_control::max_allowed_parallelism, count);
}

// The number of threads, up to `count`, that can be started in addition to the existing ones. Each
// allocates, as a worker does: it then has an allocation arena of its own, 64 MiB of address space
// in glibc, which could otherwise be missing for the next worker's stack.
uint32_t makeable(uint32_t count) noexcept {
  std::atomic<bool> may_end = false;
  std::atomic<const void*> latest = nullptr;
  const auto work = [&] {
    const std::unique_ptr<char[]> block(new (std::nothrow) char[64]);
    latest = block.get();
    may_end.wait(false);
  };
  std::vector<std::thread> threads;
  try {
    threads.reserve(count);
    while (threads.size() < count) threads.emplace_back(work);
  } catch (const std::exception&) {  // no further thread, or no memory for one
  }
  may_end = true;
  may_end.notify_all();
  for (std::thread& thread : threads) thread.join();
  return static_cast<uint32_t>(threads.size());
}

// Has the pool start `count` workers, which it keeps: started later, when there may be no room any
// more, they would end the process. The wait for workers that others keep busy is short.
void start(uint32_t count) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  const uint32_t all = count + 1;
  std::atomic<uint32_t> arrived = 0;
  const auto meet = [&](uint32_t) {
    ++arrived;
    while (arrived < all && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  };
  oneapi::tbb::task_arena arena(static_cast<int>(all));
  arena.execute(
      [&] { oneapi::tbb::parallel_for(0U, all, meet, oneapi::tbb::static_partitioner()); });
}

void warn(uint32_t made, uint32_t wanted) {
  const std::string found =
      made == 0 ? "no thread can be made: sessions run on their callers' threads"
                : "only " + std::to_string(made) + " of " + std::to_string(wanted) +
                      " threads can be made: sessions run on fewer than they are set to";
  log(LogLevel::kWarning, found +
                              "; raise the limit of processes (ulimit -u, or the container's "
                              "pids limit) or of address space (ulimit -v)");
}

}  // namespace

PoolWorkers::PoolWorkers(uint32_t count) : count_(count), lent_(count) {
  Workers& all = process_state<Workers>();
  const MutexLock lock(all.mutex);
  const auto cores = static_cast<uint32_t>(oneapi::tbb::info::default_concurrency());
  // By default the pool has one worker per core, and ignores requests for more with a message on
  // standard error. With a raised limit it starts as many as requested; an application's lower
  // limit still holds.
  if (count >= cores && !all.more) all.more = most_threads(kMostThreads);
  // Libraries in kernels may request workers of the pool besides those of their run.
  const uint32_t possible =
      all.more ? std::min(2 * (all.wanted + count), kMostThreads - 1) : cores - 1;
  if (possible > all.tried) {
    const uint32_t made = makeable(possible);
    if (made < possible) {
      auto limit = most_threads(made + 1);
      all.limit.swap(limit);
      const uint32_t needed = std::min(all.wanted + count, possible);
      if (made < needed && !all.has_warned) {
        warn(made, needed);
        all.has_warned = true;
      }
      start(std::min(made, needed));
    } else {
      all.limit.reset();
    }
    all.tried = made;
  }
  if (all.limit) lent_ = std::min(count, all.tried);
  all.wanted += count;
}

PoolWorkers::~PoolWorkers() {
  Workers& all = process_state<Workers>();
  const MutexLock lock(all.mutex);
  all.wanted -= count_;
}

}  // namespace gantry
