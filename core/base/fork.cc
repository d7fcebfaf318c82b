// SPDX-License-Identifier: Apache-2.0
#include "base/fork.h"

#include <gantry/error.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <string_view>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/mutex.h"

namespace gantry {
namespace {

using Clock = std::chrono::steady_clock;

Mutex forks;  // held by a thread from before its fork to after it, in parent and child
std::atomic<int> activities{0};
std::atomic<Clock::rep> last_end{0};  // of the last activity
std::atomic<bool> is_forking{false};
std::atomic<bool> forked{false};
std::atomic<uint32_t> generation{0};
bool is_quiet GANTRY_GUARDED_BY(forks) = false;

// How long a fork waits for threads to fall asleep. The pool's workers spin for a moment after a
// run, and take longer on a busy machine; but threads that have nothing to do with gantry may never
// sleep, and must not delay each fork of the application.
constexpr std::chrono::milliseconds kPatience{20};
constexpr std::chrono::seconds kPatienceBehindActivity{1};
constexpr std::chrono::microseconds kTick{200};

// Whether a thread of this process is blocked in the kernel, as the third field of its stat tells.
bool is_asleep(const char* thread) {
  std::array<char, 64> path = {};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%s/stat", thread);
  const Descriptor file(open(path.data(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return errno == ENOENT;  // it has ended
  std::array<char, 256> text = {};
  const ssize_t size = read(file.get(), text.data(), text.size());
  if (size <= 0) return true;  // likewise
  const std::string_view stat(text.data(), static_cast<size_t>(size));
  const size_t name_end = stat.rfind(')');  // the name may have blanks and brackets
  const char state = name_end + 2 < stat.size() ? stat[name_end + 2] : 'R';
  return state == 'S' || state == 'Z' || state == 'X';
}

bool are_others_asleep() {
  DIR* const threads = opendir("/proc/self/task");
  if (!threads) return false;
  const long self = syscall(SYS_gettid);
  bool all = true;
  while (const dirent* entry = readdir(threads)) {
    const long thread = std::strtol(entry->d_name, nullptr, 10);
    if (thread != 0 && thread != self && !is_asleep(entry->d_name)) {
      all = false;
      break;
    }
  }
  closedir(threads);
  return all;
}

// A worker that is blocked in the kernel holds no lock of the pool, and with no activity nobody
// wakes it.
bool wait_for_quiet() {
  const Clock::time_point soon = Clock::now() + kPatience;
  const Clock::time_point last{Clock::duration(last_end.load())};
  while (true) {
    const bool is_active = activities.load() != 0;
    if (!is_active && are_others_asleep()) return true;
    const auto end = is_active ? soon : std::max(soon, last + kPatienceBehindActivity);
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(kTick);
  }
}

void end_forking() GANTRY_NO_THREAD_SAFETY_ANALYSIS {
  is_forking.store(false);
  is_forking.notify_all();
  forks.unlock();
}

void before_fork() GANTRY_NO_THREAD_SAFETY_ANALYSIS {
  forks.lock();
  is_forking.store(true);
  is_quiet = wait_for_quiet();
}

void in_child() GANTRY_NO_THREAD_SAFETY_ANALYSIS {
  ++generation;
  if (!is_quiet) forked.store(true);
  end_forking();
}

}  // namespace

// Either before_fork() sees the activity, or the activity sees the fork.
Activity::Activity() noexcept {
  while (true) {
    ++activities;
    if (!is_forking.load()) return;
    --activities;
    is_forking.wait(true);
  }
}

Activity::~Activity() {
  if (--activities == 0) last_end.store(Clock::now().time_since_epoch().count());
}

void watch_forks() {
  static const int registered = pthread_atfork(before_fork, end_forking, in_child);
  if (registered != 0)
    throw Error(Code::kOutOfMemory, "no memory to watch for forks of the process");
}

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

uint32_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

void require_not_forked() {
  if (is_forked()) {
    throw Error(Code::kUnavailable,
                "this process was forked from one in which threads of gantry or of the application "
                "were at work, and what they held stays locked here; start workers with spawn "
                "instead of fork, or fork while nothing runs");
  }
}

}  // namespace gantry
