// SPDX-License-Identifier: Apache-2.0
// A pool of pinned host memory. Copies between host and device go through it, so that they are
// asynchronous even if the caller's memory is pageable. Any thread.
#pragma once

#include <gantry/sdk/mutex.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/device_context.h"

namespace gantry::cuda {

/// A pinned block with the event after which the device no longer uses it.
struct StagingBlock {
  std::byte* data = nullptr;
  uint64_t size_bytes = 0;
  EventHandle done = nullptr;
};

class Staging {
 public:
  /// Limit of one block. Larger copies to the device go in parts (copy_in_parts); larger ones to
  /// the host are left to the driver.
  static constexpr uint64_t kMostBytes = uint64_t{4} << 20;

  explicit Staging(const DeviceContext& device) : device_(device) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Takes a block of at least `size_bytes`, at most kMostBytes. Null: no more pinned memory is
  /// available. Requires the device's context to be the thread's.
  StagingBlock* take(uint64_t size_bytes);
  /// Returns a block at once.
  void give(StagingBlock* block);
  /// Returns a block once the work that the stream has so far is done.
  void give_after(StagingBlock* block, StreamHandle stream);

 private:
  // Moves what the device is done with from busy_ to free_.
  void collect() GANTRY_REQUIRES(mutex_);
  // A block of exactly that size out of free_, or null.
  StagingBlock* take_free(uint64_t size_bytes) GANTRY_REQUIRES(mutex_);

  const DeviceContext& device_;
  sdk::Mutex mutex_;
  std::vector<std::unique_ptr<StagingBlock>> blocks_ GANTRY_GUARDED_BY(mutex_);  // all
  std::vector<StagingBlock*> free_ GANTRY_GUARDED_BY(mutex_);
  // Returned, but the device may still use them.
  std::vector<StagingBlock*> busy_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry::cuda
