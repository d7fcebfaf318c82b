// SPDX-License-Identifier: Apache-2.0
// The worker's view of the shared arena, and the memory of a run's outputs in it. Each output ends
// at a guard page, so that a kernel that writes past the output ends the process at once.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <span>

#include "base/mutex.h"
#include "base/value.h"
#include "plugin/isolation/shared_memory.h"
#include "plugin/isolation/worker_messages.h"

namespace gantry {

/// Any thread.
class WorkerArena {
 public:
  explicit WorkerArena(std::shared_ptr<SharedMemory> memory) : memory_(std::move(memory)) {}

  /// Returns a range for use; guard pages in it become accessible. INTERNAL: the range is not in
  /// the arena.
  std::byte* open(uint64_t offset, uint64_t size_bytes);
  /// Makes a page a guard page.
  void close_page(uint64_t offset);
  /// Sets the offset of `data` in the arena; false: it is not in the arena.
  [[nodiscard]] bool find(const void* data, uint64_t& offset) const;
  [[nodiscard]] const std::shared_ptr<SharedMemory>& memory() const { return memory_; }

 private:
  static constexpr size_t kMostClosed = 4096;  // the system limits the mappings of a process

  std::shared_ptr<SharedMemory> memory_;
  Mutex mutex_;
  std::set<uint64_t> closed_ GANTRY_GUARDED_BY(mutex_);
};

/// The output memory of one run; one thread at a time.
class OutputMemory {
 public:
  OutputMemory(WorkerArena& arena, const std::array<WorkerRun::Window, 2>& windows)
      : arena_(arena), windows_(windows) {}
  /// Makes an output tensor in the first window with room. OUT_OF_MEMORY: neither has.
  ValueRef make(DType dtype, std::span<const int64_t> shape);

 private:
  WorkerArena& arena_;
  std::array<WorkerRun::Window, 2> windows_;  // the free parts
};

}  // namespace gantry
