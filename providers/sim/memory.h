// SPDX-License-Identifier: Apache-2.0
// Device memory that the host cannot touch. Twice the capacity is reserved: addresses handed out
// lie in the first half, which nobody may read or write; the second half, at a fixed distance, is
// the real memory, for this provider only. Any thread.
#pragma once

#include <gantry/sdk/mutex.h>

#include <cstddef>
#include <cstdint>
#include <map>

namespace gantry::sim {

class Memory {
 public:
  /// OUT_OF_MEMORY: the addresses cannot be reserved.
  explicit Memory(uint64_t capacity_bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// A device address, aligned to 256 bytes; the memory is filled with 0xFF, so that a read before
  /// a write shows as NaN. OUT_OF_MEMORY.
  void* allocate(uint64_t size_bytes);
  /// INVALID_ARGUMENT: not an address that allocate gave.
  void free(void* address);
  /// Bytes of the block that starts there; 0: none does.
  [[nodiscard]] uint64_t size_of(const void* address) const;
  /// The real memory behind `size_bytes` at a device address. DEVICE_ERROR: outside of what is
  /// allocated; `what` names it.
  [[nodiscard]] std::byte* real(const void* address, uint64_t size_bytes, const char* what) const;
  /// DEVICE_ERROR: the range touches device addresses, where host memory is expected.
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
