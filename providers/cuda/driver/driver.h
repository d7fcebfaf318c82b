// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver library (libcuda) that the provider uses: types of its binary
// interface and a table of its functions, filled at run time. So the provider builds without the
// toolkit and loads without a driver. Immutable; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "driver/handles.h"
#include "driver/launch_config.h"
#include "driver/shared_library.h"

namespace gantry::cuda {

/// Results (CUresult) that the provider distinguishes.
enum DriverResult : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kDeinitialized = 4,
  kNoDevice = 100,
  kSystemNotReady = 802,
  kNotReady = 600
};

/// Device attributes (CUdevice_attribute).
enum DeviceAttribute : int {
  kMultiprocessorCount = 16,
  kPciBus = 33,
  kPciDevice = 34,
  kCacheBytes = 38,
  kPciDomain = 50,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kHasMemoryPools = 115
};

/// CUmemPoolProps: properties of a memory pool.
struct PoolProperties {
  int allocation_type = 1;  // pinned, the only one
  int handle_types = 0;     // shared with no process
  int location_type = 1;    // a device
  int device = 0;
  void* security = nullptr;
  size_t most_bytes = 0;
  uint16_t usage = 0;
  unsigned char reserved[54] = {};
};
constexpr int kPoolReleaseThreshold = 4;
constexpr int kPoolReservedBytes = 5;

/// CUmemAccessDesc: which device may access a pool.
struct PoolAccess {
  int location_type = 1;  // a device
  int device = 0;
  int flags = 3;  // reads and writes
};

/// CUDA_MEMCPY2D: a copy of rows.
struct Copy2d {
  size_t source_x = 0, source_y = 0;
  int source_type = 0;
  const void* source_host = nullptr;
  Address source_device = 0;
  void* source_array = nullptr;
  size_t source_pitch = 0;
  size_t target_x = 0, target_y = 0;
  int target_type = 0;
  void* target_host = nullptr;
  Address target_device = 0;
  void* target_array = nullptr;
  size_t target_pitch = 0;
  size_t width_bytes = 0, height = 0;
};
constexpr int kHostMemory = 1;
constexpr int kDeviceMemory = 2;

constexpr unsigned kNonBlockingStream = 1;
constexpr unsigned kNoTiming = 2;
constexpr int kCaptureOfThread = 1;

#define GANTRY_CUDA_DRIVER_FUNCTIONS(X)                                                        \
  X(init, cuInit, int, (unsigned))                                                             \
  X(driver_version, cuDriverGetVersion, int, (int*))                                           \
  X(error_name, cuGetErrorName, int, (int, const char**))                                      \
  X(error_string, cuGetErrorString, int, (int, const char**))                                  \
  X(device_count, cuDeviceGetCount, int, (int*))                                               \
  X(device_get, cuDeviceGet, int, (DeviceNumber*, int))                                        \
  X(device_name, cuDeviceGetName, int, (char*, int, DeviceNumber))                             \
  X(device_attribute, cuDeviceGetAttribute, int, (int*, int, DeviceNumber))                    \
  X(device_memory, cuDeviceTotalMem_v2, int, (size_t*, DeviceNumber))                          \
  X(device_uuid, cuDeviceGetUuid_v2, int, (char*, DeviceNumber))                               \
  X(context_retain, cuDevicePrimaryCtxRetain, int, (ContextHandle*, DeviceNumber))             \
  X(context_release, cuDevicePrimaryCtxRelease_v2, int, (DeviceNumber))                        \
  X(context_current, cuCtxGetCurrent, int, (ContextHandle*))                                   \
  X(context_set_current, cuCtxSetCurrent, int, (ContextHandle))                                \
  X(context_synchronize, cuCtxSynchronize, int, ())                                            \
  X(can_access_peer, cuDeviceCanAccessPeer, int, (int*, DeviceNumber, DeviceNumber))           \
  X(pool_create, cuMemPoolCreate, int, (PoolHandle*, const PoolProperties*))                   \
  X(pool_destroy, cuMemPoolDestroy, int, (PoolHandle))                                         \
  X(pool_set, cuMemPoolSetAttribute, int, (PoolHandle, int, void*))                            \
  X(pool_get, cuMemPoolGetAttribute, int, (PoolHandle, int, void*))                            \
  X(pool_trim, cuMemPoolTrimTo, int, (PoolHandle, size_t))                                     \
  X(pool_share, cuMemPoolSetAccess, int, (PoolHandle, const PoolAccess*, size_t))              \
  X(pool_allocate, cuMemAllocFromPoolAsync, int, (Address*, size_t, PoolHandle, StreamHandle)) \
  X(memory_free, cuMemFreeAsync, int, (Address, StreamHandle))                                 \
  X(host_allocate, cuMemHostAlloc, int, (void**, size_t, unsigned))                            \
  X(host_free, cuMemFreeHost, int, (void*))                                                    \
  X(copy_in, cuMemcpyHtoDAsync_v2, int, (Address, const void*, size_t, StreamHandle))          \
  X(copy_out, cuMemcpyDtoHAsync_v2, int, (void*, Address, size_t, StreamHandle))               \
  X(copy_within, cuMemcpyDtoDAsync_v2, int, (Address, Address, size_t, StreamHandle))          \
  X(copy_between, cuMemcpyPeerAsync, int,                                                      \
    (Address, ContextHandle, Address, ContextHandle, size_t, StreamHandle))                    \
  X(copy_2d, cuMemcpy2DAsync_v2, int, (const Copy2d*, StreamHandle))                           \
  X(fill_8, cuMemsetD8Async, int, (Address, unsigned char, size_t, StreamHandle))              \
  X(stream_create, cuStreamCreate, int, (StreamHandle*, unsigned))                             \
  X(stream_destroy, cuStreamDestroy_v2, int, (StreamHandle))                                   \
  X(stream_synchronize, cuStreamSynchronize, int, (StreamHandle))                              \
  X(stream_wait, cuStreamWaitEvent, int, (StreamHandle, EventHandle, unsigned))                \
  X(event_create, cuEventCreate, int, (EventHandle*, unsigned))                                \
  X(event_destroy, cuEventDestroy_v2, int, (EventHandle))                                      \
  X(event_record, cuEventRecord, int, (EventHandle, StreamHandle))                             \
  X(event_query, cuEventQuery, int, (EventHandle))                                             \
  X(event_synchronize, cuEventSynchronize, int, (EventHandle))                                 \
  X(event_elapsed, cuEventElapsedTime, int, (float*, EventHandle, EventHandle))                \
  X(capture_begin, cuStreamBeginCapture_v2, int, (StreamHandle, int))                          \
  X(capture_end, cuStreamEndCapture, int, (StreamHandle, GraphHandle*))                        \
  X(graph_destroy, cuGraphDestroy, int, (GraphHandle))                                         \
  X(graph_instantiate, cuGraphInstantiateWithFlags, int,                                       \
    (GraphExecHandle*, GraphHandle, uint64_t))                                                 \
  X(graph_launch, cuGraphLaunch, int, (GraphExecHandle, StreamHandle))                         \
  X(graph_exec_destroy, cuGraphExecDestroy, int, (GraphExecHandle))                            \
  X(module_load, cuModuleLoadData, int, (ModuleHandle*, const void*))                          \
  X(module_unload, cuModuleUnload, int, (ModuleHandle))                                        \
  X(module_function, cuModuleGetFunction, int, (FunctionHandle*, ModuleHandle, const char*))   \
  X(launch, cuLaunchKernelEx, int, (const LaunchConfig*, FunctionHandle, void**, void**))

/// The functions. Each returns a CUresult, of which DriverResult names some.
struct DriverFunctions {
  GANTRY_CUDA_DRIVER_FUNCTIONS(GANTRY_CUDA_MEMBER)
  /// Looks all of them up; returns the exported name of the first that the library lacks, or null.
  [[nodiscard]] const char* find_in(const SharedLibrary& library) {
    const char* missing = nullptr;
    GANTRY_CUDA_DRIVER_FUNCTIONS(GANTRY_CUDA_FIND)
    return missing;
  }
};

class Driver : public DriverFunctions {
 public:
  /// Opens and initialises the library. Check is_usable() afterwards.
  explicit Driver(const LibrarySearch& search);

  [[nodiscard]] bool is_usable() const { return reason_.empty(); }
  /// Why it is not usable, in one sentence without a final stop; empty: it is.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// Newest CUDA version that the driver supports, 1000 * major + 10 * minor.
  [[nodiscard]] int version() const { return version_; }
  /// "CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)"
  [[nodiscard]] std::string describe(int result) const;

 private:
  std::string load(const LibrarySearch& search);

  int version_ = 0;
  std::string reason_;  // declared after the members that load() fills in
};

}  // namespace gantry::cuda
