// SPDX-License-Identifier: Apache-2.0
// The devices of the machine and, once it is opened, one of them: its context, its pool of memory
// and what its errors mean. Any thread.
#pragma once

#include <gantry/sdk/error.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "blas.h"
#include "choices.h"
#include "context_scope.h"
#include "dnn.h"
#include "driver.h"
#include "options.h"
#include "programs.h"
#include "reorder.h"
#include "staging.h"

namespace gantry::cuda {

/// What is known of a device without opening it.
struct DeviceFacts {
  DeviceNumber number = 0;  ///< the driver's
  uint32_t id = 0;          ///< N of CUDA:N, by PCI address
  std::string name;
  std::string pci;   ///< "0000:1b:00.0"
  std::string uuid;  ///< "GPU-6c1f5b2e-..."
  uint64_t memory_bytes = 0;
  int capability = 0;  ///< 10 * major + minor
  int multiprocessors = 0;
  uint64_t cache_bytes = 0;  ///< of the second level, which all multiprocessors share
  /// Why it cannot be used; empty: it can.
  std::string reason;
};

/// The devices in the order of their PCI addresses. Requires a usable driver. DEVICE_ERROR: the
/// driver does not tell.
std::vector<DeviceFacts> find_devices(const Driver& driver);

/// Memory of a device in figures, in bytes.
struct MemoryFigures {
  uint64_t used = 0;      ///< handed out
  uint64_t most = 0;      ///< that was handed out at one time
  uint64_t reserved = 0;  ///< held by the pool, used or not
};

/// What all devices of the provider share.
struct Services {
  const gantry_host* host;
  const Driver& driver;
  CompileQueue& queue;
  Programs& programs;
  const LibrarySearch& search;
  const Options& options;
};

class Device {
 public:
  /// Makes the device's primary context, which other libraries of the process share.
  /// OUT_OF_MEMORY, DEVICE_ERROR.
  Device(const Services& services, const DeviceFacts& known);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] std::string name() const { return "CUDA:" + std::to_string(facts.id); }

  /// Throws what a result of the driver means: OUT_OF_MEMORY, DEVICE_LOST (nothing on the device
  /// can be trusted any more; from then on always) or DEVICE_ERROR. `what` was being done.
  void require(int result, const char* what) const;
  void require_alive() const;

  /// Whether kernels may begin before the one before has ended: device and driver can do it, and it
  /// is not turned off.
  [[nodiscard]] bool begins_early() const { return begins_early_; }
  /// The driver took no such launch, `result` is what it answered: no more of them. Says so once.
  void never_begin_early(int result);

  /// Memory of the device, aligned to 256 bytes. OUT_OF_MEMORY: none, or beyond the limit.
  void* allocate(uint64_t size_bytes);
  void free(void* memory) noexcept;
  [[nodiscard]] MemoryFigures figures() const;
  /// Waits for all work of the process on the device, other libraries' too. DEVICE_LOST,
  /// DEVICE_ERROR.
  void settle();

  /// The driver's handle; see ContextScope.
  [[nodiscard]] ContextHandle context() const { return context_; }
  /// Lets this device read the memory of another directly, where both can; where they cannot, says
  /// so once: the driver then copies between them through host memory. Any time before a copy.
  /// DEVICE_LOST.
  void reach(const Device& other);

  const gantry_host* const host;
  const Driver& driver;
  const DeviceFacts facts;

  /// Memory of the host that copies go through.
  Staging& staging() { return *staging_; }
  /// Kernels on this device.
  LoadedPrograms& programs() { return *programs_; }
  Reorders& reorders() { return reorders_; }
  /// Which of several ways is the fastest here.
  Choices& choices() { return choices_; }
  /// Kernels as source, of all devices.
  Programs& source_store() { return services_.programs; }
  /// cuBLASLt, opened when it is first asked for; null: it is not to be used, or cannot be.
  /// Requires the device's context to be the thread's.
  Blas* blas();
  /// cuDNN likewise.
  Dnn* dnn();

 private:
  void set_up(CompileQueue& queue);
  [[nodiscard]] int take(uint64_t size_bytes, Address& out_address);

  const Services services_;
  const uint64_t limit_;  // bytes of memory; 0: what there is
  ContextHandle context_ = nullptr;
  PoolHandle pool_ = nullptr;
  StreamHandle stream_ = nullptr;  // on which memory is taken and given back
  std::unique_ptr<Staging> staging_;
  std::unique_ptr<LoadedPrograms> programs_;
  Reorders reorders_;
  Choices choices_;
  std::once_flag blas_once_;
  std::unique_ptr<Blas> blas_;
  std::once_flag dnn_once_;
  std::unique_ptr<Dnn> dnn_;
  mutable std::atomic<bool> is_lost_{false};
  std::atomic<bool> begins_early_;
  std::mutex reach_mutex_;
  std::set<uint32_t> reached_;  // ids of devices that reach() was called for
  mutable std::mutex mutex_;
  std::unordered_map<void*, uint64_t> blocks_;  // bytes of each
  uint64_t used_ = 0;
  uint64_t most_ = 0;
};

}  // namespace gantry::cuda
