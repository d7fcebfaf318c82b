// SPDX-License-Identifier: Apache-2.0
// Pinned memory of the host, which copies to and from a device go through so that they are
// asynchronous whatever memory the host's tensors are in. Blocks are kept and used again. Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "driver.h"

namespace gantry::cuda {

class Device;

/// A block in use: pinned memory, and an event that tells when the device is done with it.
struct StagingBlock {
  std::byte* data = nullptr;
  uint64_t size_bytes = 0;
  EventHandle done = nullptr;
};

class Staging {
 public:
  /// Copies of more bytes do not go through it: the driver's own way is as good for them.
  static constexpr uint64_t kMostBytes = uint64_t{4} << 20;

  explicit Staging(const Device& device) : device_(device) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// A block of at least that size, at most kMostBytes. Null: the host has no more memory of this
  /// kind. Requires the device's context to be the thread's.
  StagingBlock* take(uint64_t size_bytes);
  /// Gives a block back at once.
  void give(StagingBlock* block);
  /// Gives a block back when what the stream was given so far is done.
  void give_after(StagingBlock* block, StreamHandle stream);

 private:
  // Moves what the device is done with from busy_ to free_.
  void collect();
  // A block of exactly that size out of free_, or null.
  StagingBlock* take_free(uint64_t size_bytes);

  const Device& device_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<StagingBlock>> blocks_;  // all
  std::vector<StagingBlock*> free_;
  std::vector<StagingBlock*> busy_;  // given back, but the device may still use them
};

}  // namespace gantry::cuda
