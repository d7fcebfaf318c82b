// SPDX-License-Identifier: Apache-2.0
// Two blocks of device memory and a stream, for checks of copies and events. One thread.
#pragma once

#include <gantry/provider.h>

#include <array>
#include <cstdint>
#include <vector>

#include "open_provider.h"

namespace gantry::checks {

/// Declare host memory used by copies before this object: if a check fails, the destructor waits
/// for the stream while that memory is still valid.
class DeviceCopies {
 public:
  DeviceCopies(const OpenDevice& device, uint64_t size_bytes) : device_(device) {
    expect_ok(device.api().stream_create(device.get(), &stream_), "stream_create");
    for (void*& block : blocks_)
      expect_ok(device.api().memory_allocate(device.get(), size_bytes, &block), "memory_allocate");
  }
  ~DeviceCopies() {
    take_error(device_.api().stream_synchronize(stream_));
    for (void* block : blocks_) device_.api().memory_free(device_.get(), block);
    device_.api().stream_destroy(stream_);
  }
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;

  [[nodiscard]] void* block(size_t index) const { return blocks_.at(index); }
  [[nodiscard]] gantry_stream* stream() const { return stream_; }
  /// Enqueues a copy on the stream.
  void enqueue(const gantry_copy& copy) const {
    expect_ok(device_.api().copy(stream_, &copy), "copy");
  }
  void copy(uint32_t kind, void* target, const void* source, uint64_t size_bytes) const {
    enqueue(plain_copy(kind, target, source, size_bytes));
  }
  void synchronize() const {
    expect_ok(device_.api().stream_synchronize(stream_), "stream_synchronize");
  }

 private:
  const OpenDevice& device_;
  gantry_stream* stream_ = nullptr;
  std::array<void*, 2> blocks_ = {};
};

/// A pseudo-random pattern of `size_bytes` bytes, determined by `seed`.
std::vector<char> pattern(uint64_t size_bytes, uint32_t seed);

}  // namespace gantry::checks
