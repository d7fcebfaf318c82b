// SPDX-License-Identifier: Apache-2.0
// Two blocks of device memory and a stream, for checks of copies and events. One thread.
#pragma once

#include <gantry/provider.h>

#include <array>
#include <cstdint>
#include <vector>

#include "open_provider.h"

namespace gantry::checks {

/// Host memory given to copies stands before the object, so that it is still there when a check
/// fails and the destructor waits for the stream.
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
  /// Puts a copy into the stream.
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

/// `size_bytes` bytes that follow from `seed`.
std::vector<char> pattern(uint64_t size_bytes, uint32_t seed);

}  // namespace gantry::checks
