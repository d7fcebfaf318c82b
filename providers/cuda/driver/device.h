// SPDX-License-Identifier: Apache-2.0
// An open CUDA device: its memory pool, and which other devices it reaches. Any thread.
#pragma once

#include <gantry/sdk/error.h>
#include <gantry/sdk/mutex.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/context_scope.h"
#include "driver/device_context.h"
#include "driver/options.h"
#include "driver/staging.h"

namespace gantry::cuda {

/// Memory of a device, in bytes.
struct MemoryStatistics {
  uint64_t used = 0;      ///< allocated
  uint64_t most = 0;      ///< peak of `used`
  uint64_t reserved = 0;  ///< of the pool, used or not
};

class Device : public DeviceContext {
 public:
  /// OUT_OF_MEMORY, DEVICE_ERROR.
  Device(const gantry_host* host, const Driver& driver, const Options& options,
         const DeviceInfo& known);
  virtual ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Whether kernels are launched with programmatic dependent launch. Requires support by device
  /// and driver, and the option "overlap".
  [[nodiscard]] bool uses_dependent_launch() const { return uses_dependent_launch_; }
  /// Turns programmatic dependent launch off after the driver refused one with `result`. Logs it
  /// once.
  void disable_dependent_launch(int result);

  /// Allocates device memory, aligned to 256 bytes. OUT_OF_MEMORY: none left, or beyond the option
  /// "pool_bytes".
  void* allocate(uint64_t size_bytes);
  void free(void* memory) noexcept;
  [[nodiscard]] MemoryStatistics memory_statistics() const;
  /// Waits for all work of the process on the device, including that of other libraries.
  /// DEVICE_LOST, DEVICE_ERROR.
  void settle();

  /// Enables peer access to the memory of `other`. Where the devices are not peers it logs a
  /// warning once, and the driver copies through host memory. Call it before a copy between the
  /// two. DEVICE_LOST.
  void enable_peer_access(const Device& other);

  const gantry_host* const host;

  /// Pinned host memory for copies.
  Staging& staging() { return *staging_; }

 private:
  void set_up();
  [[nodiscard]] int take(uint64_t size_bytes, Address& out_address);

  const uint64_t limit_;  // bytes; 0: none
  PoolHandle pool_ = nullptr;
  StreamHandle stream_ = nullptr;  // for allocating and freeing
  std::unique_ptr<Staging> staging_;
  std::atomic<bool> uses_dependent_launch_;
  sdk::Mutex peers_mutex_;
  // Ids of devices that enable_peer_access() was called for.
  std::set<uint32_t> peers_ GANTRY_GUARDED_BY(peers_mutex_);
  mutable sdk::Mutex mutex_;
  // Size in bytes, by address.
  std::unordered_map<void*, uint64_t> blocks_ GANTRY_GUARDED_BY(mutex_);
  uint64_t used_ GANTRY_GUARDED_BY(mutex_) = 0;
  uint64_t most_ GANTRY_GUARDED_BY(mutex_) = 0;
};

}  // namespace gantry::cuda
