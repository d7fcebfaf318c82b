// SPDX-License-Identifier: Apache-2.0
// An open device with what plans are run with: loaded kernels, NVIDIA's libraries, results of
// autotuning, reorders. Any thread.
#pragma once

#include <memory>
#include <mutex>

#include "autotune/autotune_cache.h"
#include "compile/programs.h"
#include "driver/stream.h"
#include "libraries/cublaslt.h"
#include "libraries/cudnn.h"
#include "plan/reorder.h"

namespace gantry::cuda {

/// Objects that all devices of the provider share.
struct Services {
  const gantry_host* host;
  const Driver& driver;
  CompileQueue& queue;
  Programs& programs;
  const LibrarySearch& search;
  const Options& options;
};

/// Every device of the provider is one.
class ExecutionDevice final : public Device {
 public:
  /// OUT_OF_MEMORY, DEVICE_ERROR.
  ExecutionDevice(const Services& services, const DeviceInfo& known);
  ~ExecutionDevice() override;

  /// The device of a stream.
  static ExecutionDevice& of(const Stream& stream) {
    return static_cast<ExecutionDevice&>(stream.device());
  }

  /// Kernels loaded on this device.
  LoadedPrograms& programs() { return programs_; }
  Reorders& reorders() { return reorders_; }
  /// Results of autotuning on this device.
  AutotuneCache& autotune_cache() { return autotune_cache_; }
  /// Kernel sources, shared by all devices.
  Programs& source_store() { return services_.programs; }
  /// cuBLASLt, opened on first use; null: it is turned off or unavailable. Requires the device's
  /// context to be the thread's.
  Blas* blas();
  /// cuDNN, likewise.
  Dnn* dnn();

 private:
  const Services services_;
  LoadedPrograms programs_;
  Reorders reorders_;
  AutotuneCache autotune_cache_;
  std::once_flag blas_once_;
  std::unique_ptr<Blas> blas_;
  std::once_flag dnn_once_;
  std::unique_ptr<Dnn> dnn_;
};

/// Fills the entry of the provider's function table for reordering channels-last tensors.
void fill_reorder_slot(gantry_provider_api& api);

}  // namespace gantry::cuda
