// SPDX-License-Identifier: Apache-2.0
#include "driver/device.h"

#include <algorithm>
#include <limits>

namespace gantry::cuda {
namespace {

// The first compute capability with programmatic dependent launch, and the first driver whose CUDA
// graphs support it.
constexpr int kEarlyCapability = 90;
constexpr int kEarlyVersion = 12030;

}  // namespace

Device::Device(const gantry_host* its_host, const Driver& its_driver, const Options& options,
               const DeviceInfo& known)
    : DeviceContext(its_driver, known),
      host(its_host),
      limit_(options.pool_bytes),
      uses_dependent_launch_(options.overlap && known.capability >= kEarlyCapability &&
                             its_driver.version() >= kEarlyVersion) {
  set_up();
}

void Device::set_up() {
  const ContextScope inside(*this);
  try {
    PoolProperties properties;
    properties.device = info.number;
    require(driver.pool_create(&pool_, &properties), "making the pool of memory");
    // Freed memory stays in the pool: allocating it from the system again would cost far more than
    // a run.
    uint64_t threshold = std::numeric_limits<uint64_t>::max();
    require(driver.pool_set(pool_, kPoolReleaseThreshold, &threshold), "setting up the pool");
    require(driver.stream_create(&stream_, kNonBlockingStream), "making the pool's stream");
    staging_ = std::make_unique<Staging>(*this);
  } catch (...) {
    if (stream_) driver.stream_destroy(stream_);
    if (pool_) driver.pool_destroy(pool_);
    throw;
  }
}

Device::~Device() {
  // Results are ignored: after a device was lost every call fails, and a destructor must not throw.
  const ContextScope inside(*this, std::nothrow);
  staging_.reset();
  driver.stream_destroy(stream_);
  driver.pool_destroy(pool_);
}

void Device::disable_dependent_launch(int result) {
  if (!uses_dependent_launch_.exchange(false)) return;
  const std::string text = name() +
                           ": the driver launches no kernel before the one before has ended (" +
                           driver.describe(result) + "), each waits for the end of the other";
  host->log(GANTRY_LOG_WARNING, sdk::to_str(text));
}

void Device::enable_peer_access(const Device& other) {
  const sdk::MutexLock lock(peers_mutex_);
  if (!peers_.insert(other.info.id).second) return;
  int can = 0;
  int result = driver.can_access_peer(&can, info.number, other.info.number);
  if (result == kSuccess && can != 0) {
    PoolAccess access;
    access.device = info.number;
    result = driver.pool_share(other.pool_, &access, 1);
  }
  if (result == kSuccess && can != 0) return;
  if (is_fatal(result)) require(result, "reaching another device");
  const std::string text =
      name() + " cannot reach the memory of " + other.name() + " (" +
      (result == kSuccess ? "the driver says that they are no peers" : driver.describe(result)) +
      "): what is copied from there goes through host memory, which is slower";
  host->log(GANTRY_LOG_WARNING, sdk::to_str(text));
}

int Device::take(uint64_t size_bytes, Address& out_address) {
  int result = driver.pool_allocate(&out_address, size_bytes, pool_, stream_);
  // Other streams may use the memory only after the allocation has run on this stream.
  if (result == kSuccess) result = driver.stream_synchronize(stream_);
  return result;
}

void* Device::allocate(uint64_t size_bytes) {
  require_alive();
  const ContextScope inside(*this);
  // Multiples of 16: kernels change a single byte by an atomic operation on its word.
  size_bytes = (std::max<uint64_t>(size_bytes, 1) + 15) / 16 * 16;
  const sdk::MutexLock lock(mutex_);
  if (limit_ > 0 && (size_bytes > limit_ || used_ > limit_ - size_bytes)) {
    throw sdk::Error(GANTRY_OUT_OF_MEMORY,
                     name() + ": " + std::to_string(size_bytes) + " bytes are wanted and " +
                         std::to_string(used_) + " are in use, which is more than the " +
                         std::to_string(limit_) + " of the option \"pool_bytes\"");
  }
  Address address = 0;
  int result = take(size_bytes, address);
  if (result == kOutOfMemory) {
    // The pool may hold free memory in fragments that are too small. They return to the system once
    // the stream has run the frees.
    driver.stream_synchronize(stream_);
    driver.pool_trim(pool_, 0);
    result = take(size_bytes, address);
  }
  if (result == kOutOfMemory) {
    throw sdk::Error(GANTRY_OUT_OF_MEMORY,
                     name() + ": the device has no " + std::to_string(size_bytes) +
                         " bytes left; this provider uses " + std::to_string(used_) + " of its " +
                         std::to_string(info.memory_bytes));
  }
  require(result, "taking memory");
  void* memory = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
  blocks_[memory] = size_bytes;
  used_ += size_bytes;
  most_ = std::max(most_, used_);
  return memory;
}

void Device::free(void* memory) noexcept {
  if (!memory) return;
  const ContextScope inside(*this, std::nothrow);
  const sdk::MutexLock lock(mutex_);
  const auto found = blocks_.find(memory);
  if (found == blocks_.end()) return;
  driver.memory_free(reinterpret_cast<uintptr_t>(memory), stream_);
  used_ -= found->second;
  blocks_.erase(found);
}

void Device::settle() {
  require_alive();
  const ContextScope inside(*this);
  require(driver.context_synchronize(), "waiting for all of its work");
}

MemoryStatistics Device::memory_statistics() const {
  const sdk::MutexLock lock(mutex_);
  MemoryStatistics memory_statistics{used_, most_, 0};
  driver.pool_get(pool_, kPoolReservedBytes, &memory_statistics.reserved);
  return memory_statistics;
}

}  // namespace gantry::cuda
