// SPDX-License-Identifier: Apache-2.0
// The arena as the worker sees it, and room for the outputs of a run in it. Each output ends where
// a page begins that may not be touched, so that a kernel that writes past it ends the process then
// and there.
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

  /// A range that is about to be used; pages of it that were closed are opened. INTERNAL: it is
  /// not in the arena.
  std::byte* open(uint64_t offset, uint64_t size_bytes);
  /// Makes a page one that may not be touched.
  void close_page(uint64_t offset);
  /// Where `data` lies in the arena; false: elsewhere.
  [[nodiscard]] bool find(const void* data, uint64_t& offset) const;
  [[nodiscard]] const std::shared_ptr<SharedMemory>& memory() const { return memory_; }

 private:
  static constexpr size_t kMostClosed = 4096;  // mappings that a process may have are limited

  std::shared_ptr<SharedMemory> memory_;
  Mutex mutex_;
  std::set<uint64_t> closed_ GANTRY_GUARDED_BY(mutex_);
};

/// Of one run; one thread at a time.
class OutputMemory {
 public:
  OutputMemory(WorkerArena& arena, const std::array<WorkerRun::Window, 2>& windows)
      : arena_(arena), windows_(windows) {}
  /// OUT_OF_MEMORY: it fits in neither window.
  ValueRef make(DType dtype, std::span<const int64_t> shape);

 private:
  WorkerArena& arena_;
  std::array<WorkerRun::Window, 2> windows_;  // what is left of them
};

}  // namespace gantry
