// SPDX-License-Identifier: Apache-2.0
// Host memory as the API hands it out. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gantry::ort {

/// OrtMemoryInfo. What gantry hands out is host memory.
struct MemoryInfo {
  int allocator_type = 0;  ///< OrtAllocatorType
  int memory_type = 0;     ///< OrtMemType
  int device_type = 0;     ///< OrtMemoryInfoDeviceType; 0: the host's
};

/// OrtAllocator, whose layout is the API's.
struct Allocator {
  uint32_t version;
  void* (*allocate)(Allocator* self, size_t bytes);
  void (*release)(Allocator* self, void* memory);
  const MemoryInfo* (*info)(const Allocator* self);
  void* (*reserve)(Allocator* self, size_t bytes);
  // Of later versions of the API; null: not there.
  void* get_stats = nullptr;
  void* allocate_on_stream = nullptr;
  void* shrink = nullptr;
};

const MemoryInfo& host_memory() noexcept;
/// Aligned to 64 bytes. The process's.
Allocator& host_allocator() noexcept;

}  // namespace gantry::ort
