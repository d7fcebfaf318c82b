// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <gantry/sdk/error.h>

#include <cstring>
#include <iterator>
#include <string>
#include <sys/mman.h>

namespace gantry::sim {
namespace {

constexpr uint64_t kAlignment = 256;

uint64_t round_up(uint64_t size_bytes, uint64_t step) {
  return (size_bytes + step - 1) / step * step;
}

}  // namespace

Memory::Memory(uint64_t capacity_bytes) : capacity_(round_up(capacity_bytes, 1 << 16)) {
  void* base =
      mmap(nullptr, 2 * capacity_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    throw sdk::Error(GANTRY_OUT_OF_MEMORY,
                     "no addresses for a device of " + std::to_string(capacity_) + " bytes");
  }
  base_ = static_cast<std::byte*>(base);
  if (mprotect(base_ + capacity_, capacity_, PROT_READ | PROT_WRITE) != 0) {
    munmap(base_, 2 * capacity_);
    throw sdk::Error(GANTRY_OUT_OF_MEMORY,
                     "no memory for a device of " + std::to_string(capacity_) + " bytes");
  }
}

Memory::~Memory() { munmap(base_, 2 * capacity_); }

uint64_t Memory::find_gap(uint64_t size_bytes) const {
  uint64_t end = 0;
  for (const auto& [offset, bytes] : blocks_) {
    if (offset - end >= size_bytes) return end;
    end = offset + bytes;
  }
  return end;
}

void* Memory::allocate(uint64_t size_bytes) {
  const sdk::MutexLock lock(mutex_);
  const uint64_t wanted =
      size_bytes > capacity_ ? size_bytes : round_up(size_bytes == 0 ? 1 : size_bytes, kAlignment);
  const uint64_t offset = find_gap(wanted);
  if (wanted > capacity_ || offset > capacity_ - wanted) {
    throw sdk::Error(GANTRY_OUT_OF_MEMORY, "a simulated device of " + std::to_string(capacity_) +
                                               " bytes has no " + std::to_string(size_bytes) +
                                               " bytes left in one piece");
  }
  blocks_[offset] = wanted;
  std::memset(base_ + capacity_ + offset, 0xFF, wanted);
  return base_ + offset;
}

void Memory::free(void* address) {
  if (!address) return;
  const sdk::MutexLock lock(mutex_);
  if (blocks_.erase(offset_of(address)) == 0) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     "expected an address that the device gave and has not freed, found another");
  }
}

uint64_t Memory::size_of(const void* address) const {
  const sdk::MutexLock lock(mutex_);
  const auto found = blocks_.find(offset_of(address));
  return found == blocks_.end() ? 0 : found->second;
}

uint64_t Memory::offset_of(const void* address) const {
  return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address) -
                               reinterpret_cast<uintptr_t>(base_));
}

std::byte* Memory::real(const void* address, uint64_t size_bytes, const char* what) const {
  if (size_bytes == 0) return nullptr;
  const sdk::MutexLock lock(mutex_);
  const uint64_t offset = offset_of(address);  // wraps around for addresses below the base
  const auto after = blocks_.upper_bound(offset);
  if (after != blocks_.begin()) {
    const auto& [start, bytes] = *std::prev(after);
    if (offset - start < bytes && size_bytes <= bytes - (offset - start))
      return base_ + capacity_ + offset;
  }
  throw sdk::Error(GANTRY_DEVICE_ERROR,
                   std::string(what) + ": expected " + std::to_string(size_bytes) +
                       " bytes of allocated device memory, found " +
                       (offset < capacity_ ? "an address beyond an allocation"
                                           : "an address that is not the device's"));
}

void Memory::expect_host(const void* address, uint64_t size_bytes, const char* what) const {
  const auto start = reinterpret_cast<uintptr_t>(address);
  const auto base = reinterpret_cast<uintptr_t>(base_);
  if (size_bytes > 0 && start < base + 2 * capacity_ && start + size_bytes > base) {
    throw sdk::Error(GANTRY_DEVICE_ERROR,
                     std::string(what) + ": expected host memory, found an address of the device");
  }
}

}  // namespace gantry::sim
