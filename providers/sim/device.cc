// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <bit>
#include <chrono>

namespace gantry::sim {

void Rendezvous::arrive(uint32_t id, uint32_t devices) {
  const sdk::MutexLock lock(mutex_);
  arrived_ |= uint64_t{1} << id;
  changed_.notify_all();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (static_cast<uint32_t>(std::popcount(arrived_)) < devices) {
    if (!changed_.wait_until(mutex_, end)) return;
  }
}

int& Device::captures_here() {
  static thread_local int captures = 0;
  return captures;
}

void Device::require_alive() const {
  if (is_lost_)
    throw sdk::Error(GANTRY_DEVICE_LOST, name() + " was lost (the fault \"device_lost\")");
}

void* Device::allocate(uint64_t size_bytes) {
  require_alive();
  if (captures_here() > 0) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     name() + ": memory cannot be allocated while this thread captures");
  }
  const uint64_t number = ++allocations_;
  if (faults() && faults()->allocate.hits(number, {})) {
    throw sdk::Error(GANTRY_OUT_OF_MEMORY, name() + ": allocation " + std::to_string(number) +
                                               " fails (the fault \"allocate\")");
  }
  void* address = memory.allocate(size_bytes);
  ++journal.blocks;
  journal.bytes += memory.size_of(address);
  return address;
}

void Device::free(void* address) {
  if (!address) return;
  const uint64_t bytes = memory.size_of(address);
  memory.free(address);
  --journal.blocks;
  journal.bytes -= bytes;
}

}  // namespace gantry::sim
