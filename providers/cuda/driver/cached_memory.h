// SPDX-License-Identifier: Apache-2.0
// Device memory that a plan keeps between runs.
#pragma once

#include <atomic>
#include <cstdint>

namespace gantry::cuda {

class Device;

/// Device memory that the first run fills and later runs read (packed weights), or update (a
/// counter of runs). Any thread.
class CachedMemory {
 public:
  /// OUT_OF_MEMORY.
  CachedMemory(Device& device, uint64_t size_bytes);
  ~CachedMemory();
  CachedMemory(const CachedMemory&) = delete;
  CachedMemory& operator=(const CachedMemory&) = delete;

  [[nodiscard]] void* memory() const { return memory_; }
  [[nodiscard]] bool is_filled() const { return is_filled_; }
  /// Call it when the stream has finished filling the memory.
  void set_filled() { is_filled_ = true; }

 private:
  Device& device_;
  void* const memory_;
  std::atomic<bool> is_filled_{false};
};

}  // namespace gantry::cuda
