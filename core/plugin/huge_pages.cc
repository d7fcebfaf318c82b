// SPDX-License-Identifier: Apache-2.0
#include "plugin/huge_pages.h"

#include <atomic>
#include <chrono>
#include <ctime>
#include <deque>
#include <sys/mman.h>
#include <system_error>
#include <thread>
#include <utility>

#include "base/alignment.h"
#include "base/mutex.h"
#include "base/process_state.h"

namespace gantry {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr uint64_t kSample = 8 * kHugePageBytes;
constexpr nanoseconds kRemembered = std::chrono::seconds(5);  // how long slow_at counts

// Time of the last slow allocation of a huge page, since the steady clock's epoch; long ago at
// first.
std::atomic<int64_t> slow_at{INT64_MIN / 2};

int64_t now() { return std::chrono::steady_clock::now().time_since_epoch() / nanoseconds(1); }

bool were_slow() { return now() - slow_at < kRemembered.count(); }

#ifdef MADV_COLLAPSE
constexpr int kCollapse = MADV_COLLAPSE;
#else
constexpr int kCollapse = 25;  // Linux 6.1; the headers of Debian 12's C library are older
#endif

/// Whether this system has MADV_COLLAPSE.
bool can_gather() {
  static const bool can = madvise(nullptr, 0, kCollapse) == 0;
  return can;
}

nanoseconds time_of_this_thread() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

/// A range of small pages to collapse into huge pages.
struct Range {
  std::weak_ptr<std::byte> mapping;
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
};

/// Collapses ranges on a thread that ends when there are none left.
class Gatherer {
 public:
  static constexpr ProcessState kState = ProcessState::kHugePages;

  void add(Range range) {
    const MutexLock lock(mutex_);
    ranges_.push_back(std::move(range));
    last_ = std::chrono::steady_clock::now();
    if (is_working_) return;
    try {
      std::thread([this] { work(); }).detach();
      is_working_ = true;
    } catch (const std::system_error&) {
      ranges_.clear();  // no thread can be started: the pages stay small
    }
  }

 private:
  static constexpr milliseconds kRest{500};  // after the last range, so that loading is done
  static constexpr int kPause = 1;           // for each unit of time that a page took

  // Waits for the next range. False: there is none, and the thread must end.
  bool next(Range& range) {
    const MutexLock lock(mutex_);
    while (!ranges_.empty()) {
      const auto start = last_ + kRest;
      if (std::chrono::steady_clock::now() >= start) {
        range = std::move(ranges_.front());
        ranges_.pop_front();
        return true;
      }
      const MutexUnlock unlock(mutex_);
      std::this_thread::sleep_until(start);
    }
    is_working_ = false;
    return false;
  }

  void work() {
    for (Range range; next(range);) gather(range);
  }

  static void gather(const Range& range) {
    for (std::byte* page = range.begin; page < range.end; page += kHugePageBytes) {
      const std::shared_ptr<std::byte> mapping = range.mapping.lock();
      if (!mapping) return;  // the memory has been freed
      if (page == range.begin) {
        const auto length = static_cast<size_t>(range.end - range.begin);
        madvise(page, length, MADV_HUGEPAGE);
      }
      const nanoseconds before = time_of_this_thread();
      // Best effort: pages without content stay small, and so do all if the system lacks memory.
      madvise(page, kHugePageBytes, kCollapse);
      const nanoseconds took = time_of_this_thread() - before;
      std::this_thread::sleep_for(took * kPause);
    }
  }

  Mutex mutex_;
  std::deque<Range> ranges_ GANTRY_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point last_ GANTRY_GUARDED_BY(mutex_);
  bool is_working_ GANTRY_GUARDED_BY(mutex_) = false;
};

}  // namespace

HugePages::HugePages(const std::shared_ptr<std::byte>& mapping, uint64_t size_bytes)
    : mapping_(mapping), begin_(mapping.get()), size_bytes_(size_bytes) {
  madvise(begin_, size_bytes_, MADV_HUGEPAGE);  // best effort: failure costs speed only
  if (!can_gather()) next_ = size_bytes_;       // no samples: pages are huge from the start
}

void HugePages::use(uint64_t size_bytes, nanoseconds slow) {
  if (next_ == 0 && size_bytes_ >= kHugePageBytes && were_slow()) {
    fall_back(0);
    next_ = size_bytes_;
    return;
  }
  for (; next_ + kHugePageBytes <= size_bytes_ && next_ < size_bytes; next_ += kSample) {
    const nanoseconds before = time_of_this_thread();
    *static_cast<volatile std::byte*>(begin_ + next_) = std::byte{0};
    if (time_of_this_thread() - before < slow) continue;
    slow_at = now();
    fall_back(next_ + kHugePageBytes);
    next_ = size_bytes_;
    return;
  }
}

void HugePages::fall_back(uint64_t from) {
  const uint64_t whole = size_bytes_ / kHugePageBytes * kHugePageBytes;
  if (from >= whole) return;
  madvise(begin_ + from, size_bytes_ - from, MADV_NOHUGEPAGE);
  process_state<Gatherer>().add({mapping_, begin_ + from, begin_ + whole});
}

void collapse_pages(const std::shared_ptr<std::byte>& mapping, std::byte* begin,
                    uint64_t size_bytes) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const uint64_t before = round_up(address, kHugePageBytes) - address;
  if (!can_gather() || size_bytes < before + kHugePageBytes) return;
  std::byte* first = begin + before;
  const uint64_t whole = (size_bytes - before) / kHugePageBytes * kHugePageBytes;
  process_state<Gatherer>().add({mapping, first, first + whole});
}

}  // namespace gantry
