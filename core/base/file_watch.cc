// SPDX-License-Identifier: Apache-2.0
#include "base/file_watch.h"

#include <gantry/error.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace gantry {
namespace {

// A mapped range. Read by the signal handler, so without locks: `begin` is set last and cleared
// first.
struct Range {
  std::atomic<bool> is_taken{false};
  std::atomic<uintptr_t> begin{0};
  std::atomic<size_t> size_bytes{0};
  std::atomic<bool> is_lost{false};
};

// More files than that at once are not guarded against SIGBUS.
constexpr int kMostRanges = 1024;
constinit std::array<Range, kMostRanges> ranges;
constinit struct sigaction previous = {};

uintptr_t page_bytes() {
  static const auto bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Replaces missing pages by zeros. False: the address is in none of the ranges.
bool replace_pages(uintptr_t address) {
  for (Range& range : ranges) {
    const uintptr_t begin = range.begin.load(std::memory_order_acquire);
    const uintptr_t end = begin + range.size_bytes.load(std::memory_order_relaxed);
    if (begin == 0 || address < begin || address >= end) continue;
    const uintptr_t page = address / page_bytes() * page_bytes();
    if (mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      return false;
    range.is_lost.store(true, std::memory_order_release);
    return true;
  }
  return false;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const bool is_done =
      info->si_code > 0 && replace_pages(reinterpret_cast<uintptr_t>(info->si_addr));
  errno = saved;
  if (is_done) return;
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {  // default action: the access is repeated on return, and ends the process
    std::signal(SIGBUS, SIG_DFL);
    if (info->si_code <= 0) raise(SIGBUS);  // sent by a process: there is no access
  }
}

void install_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    page_bytes();  // initialised before the signal handler needs it
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous);
  });
}

int take_range(std::span<const std::byte> bytes) {
  for (int i = 0; i < kMostRanges; ++i) {
    Range& range = ranges[static_cast<size_t>(i)];
    if (range.is_taken.exchange(true, std::memory_order_acq_rel)) continue;
    range.is_lost.store(false, std::memory_order_relaxed);
    range.size_bytes.store(bytes.size(), std::memory_order_relaxed);
    range.begin.store(reinterpret_cast<uintptr_t>(bytes.data()), std::memory_order_release);
    return i;
  }
  return -1;
}

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileWatch::FileWatch(std::string path, int descriptor, const struct stat& status,
                     std::span<const std::byte> bytes)
    : path_(std::move(path)),
      descriptor_(descriptor),
      size_bytes_(status.st_size),
      written_ns_(nanoseconds(status.st_mtim)),
      slot_(take_range(bytes)) {
  install_handler();
}

FileWatch::~FileWatch() {
  if (slot_ < 0) return;
  Range& range = ranges[static_cast<size_t>(slot_)];
  range.begin.store(0, std::memory_order_release);
  range.is_taken.store(false, std::memory_order_release);
}

void FileWatch::require_unchanged() const {
  const char* what = nullptr;
  struct stat status = {};
  if (slot_ >= 0 && ranges[static_cast<size_t>(slot_)].is_lost.load(std::memory_order_acquire)) {
    what = "the file became shorter, or could not be read,";
  } else if (fstat(descriptor_, &status) == 0 &&
             (status.st_size != size_bytes_ || nanoseconds(status.st_mtim) != written_ns_)) {
    what = "the file was written";
  } else {
    return;
  }
  throw Error(Code::kInvalidModel,
              std::string(what) +
                  " while a session uses it: its weights are no longer those that were loaded. "
                  "Make the session anew; replace a model's file by renaming another to its name, "
                  "or set session.map_files to false")
      .in(path_);
}

void FileWatch::settle() const {
  constexpr int kMostWaits = 20;  // of a millisecond: the clock of files moves every 10 at most
  for (int i = 0; i < kMostWaits; ++i) {
    timespec now = {};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    // A time in the far future does not tell when the file was written.
    const int64_t since = nanoseconds(now) - written_ns_;
    if (since > 0 || since < -1'000'000'000) return;
    const timespec pause = {0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

bool own_pages(std::span<const std::byte> bytes) noexcept {
  if (bytes.empty()) return true;
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = address / page_bytes() * page_bytes();
  const uintptr_t end = (address + bytes.size() + page_bytes() - 1) / page_bytes() * page_bytes();
  const size_t length = end - first;
  // An anonymous copy: written pages of the file mapping would still be lost if the file is
  // truncated.
  void* copy = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  std::memcpy(copy, reinterpret_cast<const void*>(first), length);
  mprotect(copy, length, PROT_READ);
  // mremap replaces the pages atomically for threads that read meanwhile.
  if (mremap(copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(first)) !=
      MAP_FAILED)
    return true;
  munmap(copy, length);
  return false;
}

}  // namespace gantry
