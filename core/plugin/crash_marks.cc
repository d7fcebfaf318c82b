// SPDX-License-Identifier: Apache-2.0
#include "plugin/crash_marks.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/linux_state.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/process_state.h"
#include "plugin/mark_file.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;

struct Marks {
  static constexpr ProcessState kState = ProcessState::kCrashMarks;

  Mutex mutex;
  bool has_begun GANTRY_GUARDED_BY(mutex) = false;
  MarkFile nowhere;  // used if there is no file, so that a mark needs no test
  std::atomic<MarkFile*> file{&nowhere};
  std::atomic<uint32_t> next_cell{0};
  std::string path GANTRY_GUARDED_BY(mutex);
  pid_t process GANTRY_GUARDED_BY(mutex) = 0;
};

Marks& marks() { return process_state<Marks>(); }

// Removes the file at a normal exit; a forked child must not remove its parent's file. Registered
// once path and process are final. Takes no lock: in a child forked while another thread held the
// mutex, the mutex would stay locked.
void remove_file() GANTRY_NO_THREAD_SAFETY_ANALYSIS {
  if (marks().process == getpid()) unlink(marks().path.c_str());
}

MarkFile* map_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return nullptr;
  // Disk blocks are allocated now: with a full disk a later mark would end the process. The lock
  // ends with the process; its descriptor stays open for that.
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  void* memory = MAP_FAILED;
  if (posix_fallocate(descriptor, 0, sizeof(MarkFile)) == 0 &&
      fcntl(descriptor, F_SETLK, &lock) == 0) {
    memory = mmap(nullptr, sizeof(MarkFile), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  if (memory != MAP_FAILED) return new (memory) MarkFile;
  unlink(path.c_str());
  close(descriptor);
  return nullptr;
}

// A forked child marks nothing: the file tells of its parent. Its cells become memory of the
// child's own, for execution contexts have their addresses.
void detach_in_child() {
  MarkFile* const file = marks().file.load();
  if (file == &marks().nowhere) return;
  static_cast<void>(mmap(file, sizeof(MarkFile), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

void begin(Marks& all, const std::string& folder) GANTRY_REQUIRES(all.mutex) {
  all.has_begun = true;
  const fs::path place = fs::path(folder) / kMarkFolder;
  if (fs::create_directories(place)) fs::permissions(place, fs::perms::owner_all);
  all.process = getpid();
  // Process ids repeat, over time and between containers that share a folder.
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  all.path = (place / (std::to_string(all.process) + "-" + std::to_string(now))).string();
  MarkFile* file = map_file(all.path);
  if (!file) return;
  file->process = all.process;
  const LinuxState state = linux_state();
  std::memcpy(file->boot.data(), state.boot.data(),
              std::min(state.boot.size(), file->boot.size() - 1));
  file->memory_kills = state.memory_kills.value_or(MarkFile::kNotKnown);
  std::atexit(remove_file);
  static_cast<void>(pthread_atfork(nullptr, nullptr, detach_in_child));
  all.file.store(file);
}

std::atomic<uint64_t>* next_cell() {
  Marks& all = marks();
  MarkFile& file = *all.file.load();
  return &file.cells[all.next_cell++ % file.cells.size()].mark;
}

}  // namespace

MarkNumber mark_provider(const std::string& folder, const std::string& name,
                         const std::string& library) noexcept {
  if (folder.empty()) return 0;
  try {
    Marks& all = marks();
    const MutexLock lock(all.mutex);
    if (!all.has_begun) begin(all, folder);
    MarkFile& file = *all.file.load();
    if (&file == &marks().nowhere) return 0;
    for (uint32_t i = 0; i < file.providers.size(); ++i) {
      MarkFile::Provider& provider = file.providers[i];
      if (library.compare(provider.library.data()) == 0 && provider.name[0] != '\0') return i + 1;
      if (provider.name[0] != '\0') continue;
      if (library.size() >= provider.library.size()) return 0;
      std::memcpy(provider.library.data(), library.c_str(), library.size() + 1);
      std::memcpy(provider.name.data(), name.c_str(),
                  std::min(name.size() + 1, provider.name.size()));
      return i + 1;
    }
  } catch (const std::exception& error) {
    log(LogLevel::kInfo, std::string("no marks of running providers are kept: ") + error.what());
  }
  return 0;
}

std::string own_mark_file() {
  Marks& all = marks();
  const MutexLock lock(all.mutex);
  return all.path;
}

std::atomic<uint64_t>* mark_cell() noexcept { return next_cell(); }

CallMark::CallMark(MarkNumber provider, MarkedCall call) noexcept {
  thread_local std::atomic<uint64_t>* cell = nullptr;
  thread_local const MarkFile* file = nullptr;
  if (file != marks().file.load()) {
    file = marks().file.load();
    cell = next_cell();
  }
  cell_ = cell;
  before_ = cell_->exchange(mark_of(provider, call), std::memory_order_relaxed);
}

CallMark::~CallMark() { cell_->store(before_, std::memory_order_relaxed); }

}  // namespace gantry
