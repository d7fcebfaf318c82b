// SPDX-License-Identifier: Apache-2.0
// Memory of a device that plans keep between runs.
#pragma once

#include <atomic>
#include <cstdint>

namespace gantry::cuda {

class Device;

/// Memory of a device that the first run fills and every later one reads, as a constant in another
/// order, or goes on with, as a count of runs. Any thread.
class KeptMemory {
 public:
  /// OUT_OF_MEMORY.
  KeptMemory(Device& device, uint64_t size_bytes);
  ~KeptMemory();
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

  [[nodiscard]] void* memory() const { return memory_; }
  [[nodiscard]] bool is_filled() const { return is_filled_; }
  /// To be called when a stream has done what fills it.
  void set_filled() { is_filled_ = true; }

 private:
  Device& device_;
  void* const memory_;
  std::atomic<bool> is_filled_{false};
};

}  // namespace gantry::cuda
