// SPDX-License-Identifier: Apache-2.0
// Device memory that the host cannot access. Twice the capacity is reserved. Device addresses lie
// in the first half, which is protected against all access. The second half, at a fixed offset, is
// the real memory and is used by this provider only. Any thread.
#pragma once

#include <gantry/sdk/mutex.h>

#include <cstddef>
#include <cstdint>
#include <map>

namespace gantry::sim {

class Memory {
 public:
  /// Throws OUT_OF_MEMORY if the address space cannot be reserved.
  explicit Memory(uint64_t capacity_bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Allocates a block and returns its device address, aligned to 256 bytes. The block is filled
  /// with 0xFF, so that a read before a write gives NaN. Throws OUT_OF_MEMORY.
  void* allocate(uint64_t size_bytes);
  /// Throws INVALID_ARGUMENT if allocate() did not return `address`.
  void free(void* address);
  /// Bytes of the block that starts at `address`, 0 if none does.
  [[nodiscard]] uint64_t size_of(const void* address) const;
  /// The real memory behind `size_bytes` at a device address. Throws DEVICE_ERROR, with `what` in
  /// the message, if the range is not inside one block.
  [[nodiscard]] std::byte* real(const void* address, uint64_t size_bytes, const char* what) const;
  /// Throws DEVICE_ERROR, with `what` in the message, if a range of host memory overlaps device
  /// addresses.
  void expect_host(const void* address, uint64_t size_bytes, const char* what) const;

 private:
  [[nodiscard]] uint64_t offset_of(const void* address) const;
  uint64_t find_gap(uint64_t size_bytes) const GANTRY_REQUIRES(mutex_);

  uint64_t capacity_;
  std::byte* base_ = nullptr;
  mutable sdk::Mutex mutex_;
  std::map<uint64_t, uint64_t> blocks_ GANTRY_GUARDED_BY(mutex_);  // offset -> bytes
};

}  // namespace gantry::sim
