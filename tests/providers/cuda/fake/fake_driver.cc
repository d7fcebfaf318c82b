// SPDX-License-Identifier: Apache-2.0
// A fake libcuda.so.1: devices in host memory whose streams work asynchronously, each on a thread
// of its own, and run kernels that fake_nvrtc compiled. An environment variable, read by each
// cuInit, describes the machine and its faults: GANTRY_FAKE_CUDA="devices=2 version=13000
// capability=90 memory=67108864 latency_us=50 fail=cuMemHostAlloc:3 lost=5 pools=0 peers=0 early=0"
// `fail`: call N of a function returns CUDA_ERROR_INVALID_VALUE; `lost`: launch N breaks the
// device; `pools=0`: devices have no memory pools; `peers=0`: no peer access; `early=0`:
// programmatic dependent launches are refused, `early=2`: graphs of them are. The fake is as strict
// as a driver may be: calls without a context fail, a thread that captures may not wait, query or
// load, and a misaligned access breaks the device.
#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../../../../providers/cuda/driver/driver.h"
#include "fake_event.h"
#include "fake_memory.h"
#include "fake_stream.h"

using namespace gantry::test;  // NOLINT(google-build-using-namespace): all of it is its own

namespace {

struct Graph {
  std::vector<Work> works;
  bool has_early = false;
};

// A range of device memory must be inside of one block.
bool is_on_device(uintptr_t address, uint64_t bytes) {
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mutex);
  auto after = w.blocks.upper_bound(address);
  if (after == w.blocks.begin()) return false;
  --after;
  return address + bytes <= after->first + after->second.bytes;
}

// Whether the block was allocated in that context.
bool is_of(uintptr_t address, const void* context) {
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mutex);
  const auto after = w.blocks.upper_bound(address);
  return after != w.blocks.begin() && std::prev(after)->second.context == context;
}

int copy(Stream* stream, uintptr_t target, uintptr_t source, uint64_t bytes, bool to, bool from) {
  return stream->give([=] {
    if ((to && !is_on_device(target, bytes)) || (from && !is_on_device(source, bytes)))
      return break_device();
    if (lost_or_ok() != kOk) return;
    std::memmove(reinterpret_cast<void*>(target), reinterpret_cast<const void*>(source), bytes);
    ++world().counters.copies;
  });
}

Event* event_of(void* event) { return static_cast<Event*>(event); }

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
EXPORT const FakeCounters* gantry_fake_counters() { return &world().counters; }

// For other fakes: enqueues work, and takes ownership of its argument.
EXPORT void gantry_fake_enqueue(void* stream, void (*work)(void*),
                                std::shared_ptr<void>* argument) {
  of(stream)->give([work, kept = *argument] {
    if (lost_or_ok() == kOk) work(kept.get());
  });
}

// Shuts the driver down, as may happen before its users at process exit.
EXPORT void gantry_fake_end() {
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mutex);
  w.has_ended = true;
}
EXPORT int gantry_fake_has_ended() {
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mutex);
  return w.has_ended ? 1 : 0;
}

EXPORT int cuInit(unsigned) {
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mutex);
  w.settings = Settings::read();
  w.calls.clear();
  w.is_lost = false;
  w.has_ended = false;
  return w.settings.devices == 0 ? kNoDevice : kOk;
}
EXPORT int cuDriverGetVersion(int* version) {
  *version = Settings::read().version;
  return kOk;
}
EXPORT int cuGetErrorName(int result, const char** name) {
  switch (result) {
    case kInvalid:
      *name = "CUDA_ERROR_INVALID_VALUE";
      break;
    case kNoMemory:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case kNoDevice:
      *name = "CUDA_ERROR_NO_DEVICE";
      break;
    case kIllegalAddress:
      *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
      break;
    default:
      *name = "CUDA_ERROR_OF_THE_TESTS";
  }
  return kOk;
}
EXPORT int cuGetErrorString(int result, const char** text) {
  *text = result == kNoDevice ? "no CUDA-capable device is detected" : "as the test asked for";
  return kOk;
}
EXPORT int cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = world().settings.devices;
  return kOk;
}
EXPORT int cuDeviceGet(int* device, int index) {
  ENTER("cuDeviceGet");
  *device = index;
  return kOk;
}
EXPORT int cuDeviceGetName(char* name, int length, int device) {
  std::snprintf(name, static_cast<size_t>(length), "Fake GPU %d", device);
  return kOk;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  ENTER("cuDeviceGetAttribute");
  const Settings& settings = world().settings;
  switch (attribute) {
    case 16:
      *value = 4;
      return kOk;
    case 33:  // PCI bus: in reverse order of the driver's ordinals
      *value = 0x20 - device;
      return kOk;
    case 34:
    case 50:
      *value = 0;
      return kOk;
    case 38:  // L2 cache size
      *value = kCacheBytes;
      return kOk;
    case 115:  // memory pools
      *value = settings.pools;
      return kOk;
    case 75:
      *value = settings.capability / 10;
      return kOk;
    case 76:
      *value = settings.capability % 10;
      return kOk;
    default:
      return kInvalid;
  }
}
EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = world().settings.memory;
  return kOk;
}
EXPORT int cuDeviceGetUuid_v2(char* uuid, int device) {
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<char>(16 * device + i);
  return kOk;
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  ENTER("cuDevicePrimaryCtxRetain");
  *context = &world().contexts.at(static_cast<size_t>(device));
  ++world().counters.contexts;
  return kOk;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
  --world().counters.contexts;
  return kOk;
}
EXPORT int cuCtxGetCurrent(void** context) {
  *context = current_context;
  return lost_or_ok();
}
EXPORT int cuCtxSetCurrent(void* context) {
  current_context = context;
  return lost_or_ok();
}

EXPORT int cuMemPoolCreate(void** pool, const gantry::cuda::PoolProperties* properties) {
  ENTER_CONTEXT("cuMemPoolCreate");
  *pool = &world().pools.at(static_cast<size_t>(properties->device));
  return kOk;
}
EXPORT int cuDeviceCanAccessPeer(int* can, int device, int other) {
  ENTER("cuDeviceCanAccessPeer");
  *can = device != other && world().settings.peers != 0 ? 1 : 0;
  return kOk;
}
EXPORT int cuMemPoolSetAccess(void* pool, const gantry::cuda::PoolAccess* access, size_t count) {
  ENTER_CONTEXT("cuMemPoolSetAccess");
  World& w = world();
  const int owner = static_cast<int>(static_cast<int*>(pool) - w.pools.data());
  if (count != 1 || access->location_type != 1 || access->flags != 3 || access->device == owner ||
      w.settings.peers == 0)
    return kInvalid;
  ++w.counters.shared_pools;
  return kOk;
}
EXPORT int cuMemPoolDestroy(void*) { return enter_context("cuMemPoolDestroy"); }
EXPORT int cuMemPoolSetAttribute(void*, int, void*) { return kOk; }
EXPORT int cuMemPoolGetAttribute(void*, int, void* value) {
  *static_cast<uint64_t*>(value) = world().counters.device_bytes;
  return kOk;
}
EXPORT int cuMemPoolTrimTo(void*, size_t) {
  ++world().counters.trims;
  return kOk;
}
EXPORT int cuMemAllocFromPoolAsync(unsigned long long* out, size_t bytes, void*, void*) {
  ENTER_CONTEXT("cuMemAllocFromPoolAsync");
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mutex);
  if (bytes > w.settings.memory || w.counters.device_bytes > w.settings.memory - bytes)
    return kNoMemory;
  void* const memory = take_memory(bytes);
  if (!memory) return kNoMemory;
  w.blocks[reinterpret_cast<uintptr_t>(memory)] = {bytes, current_context};
  w.counters.device_bytes += bytes;
  *out = reinterpret_cast<uintptr_t>(memory);
  return kOk;
}
EXPORT int cuMemFreeAsync(unsigned long long address, void*) {
  if (!current_context) return kNoContext;
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mutex);
  const auto found = w.blocks.find(address);
  if (found == w.blocks.end()) return kInvalid;
  w.counters.device_bytes -= found->second.bytes;
  give_memory(reinterpret_cast<void*>(address), found->second.bytes);
  w.blocks.erase(found);
  return kOk;
}
EXPORT int cuMemHostAlloc(void** out, size_t bytes, unsigned) {
  ENTER_UNRECORDED("cuMemHostAlloc");
  *out = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  ++world().counters.pinned_blocks;
  return kOk;
}
EXPORT int cuMemFreeHost(void* memory) {
  if (!current_context) return kNoContext;
  std::free(memory);
  --world().counters.pinned_blocks;
  return kOk;
}
EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long target, const void* source, size_t bytes,
                                void* stream) {
  ENTER_CONTEXT("cuMemcpyHtoDAsync_v2");
  return copy(of(stream), target, reinterpret_cast<uintptr_t>(source), bytes, true, false);
}
EXPORT int cuMemcpyDtoHAsync_v2(void* target, unsigned long long source, size_t bytes,
                                void* stream) {
  ENTER_CONTEXT("cuMemcpyDtoHAsync_v2");
  return copy(of(stream), reinterpret_cast<uintptr_t>(target), source, bytes, false, true);
}
EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long target, unsigned long long source, size_t bytes,
                                void* stream) {
  ENTER_CONTEXT("cuMemcpyDtoDAsync_v2");
  return copy(of(stream), target, source, bytes, true, true);
}
EXPORT int cuMemcpyPeerAsync(unsigned long long target, void* target_context,
                             unsigned long long source, void* source_context, size_t bytes,
                             void* stream) {
  ENTER_CONTEXT("cuMemcpyPeerAsync");
  if (!is_of(target, target_context) || !is_of(source, source_context)) return kInvalid;
  ++world().counters.peer_copies;
  return copy(of(stream), target, source, bytes, true, true);
}
EXPORT int cuMemcpy2DAsync_v2(const gantry::cuda::Copy2d* rows, void* stream) {
  ENTER_CONTEXT("cuMemcpy2DAsync_v2");
  const auto target =
      rows->target_type == 1 ? reinterpret_cast<uintptr_t>(rows->target_host) : rows->target_device;
  const auto source =
      rows->source_type == 1 ? reinterpret_cast<uintptr_t>(rows->source_host) : rows->source_device;
  for (size_t row = 0; row < rows->height; ++row) {
    copy(of(stream), target + row * rows->target_pitch, source + row * rows->source_pitch,
         rows->width_bytes, rows->target_type == 2, rows->source_type == 2);
  }
  return kOk;
}
EXPORT int cuMemsetD8Async(unsigned long long target, unsigned char value, size_t bytes,
                           void* stream) {
  ENTER_CONTEXT("cuMemsetD8Async");
  if (bytes == kCacheBytes) ++world().counters.caches_written;
  return of(stream)->give([=] {
    if (!is_on_device(target, bytes)) return break_device();
    std::memset(reinterpret_cast<void*>(target), value, bytes);
  });
}

EXPORT int cuStreamCreate(void** stream, unsigned) {
  ENTER_CONTEXT("cuStreamCreate");
  auto* const made = new Stream;
  *stream = made;
  const std::lock_guard<std::mutex> lock(world().mutex);
  world().streams.insert(made);
  ++world().counters.streams;
  return kOk;
}
EXPORT int cuStreamDestroy_v2(void* stream) {
  if (!current_context) return kNoContext;
  {
    const std::lock_guard<std::mutex> lock(world().mutex);
    world().streams.erase(of(stream));
    --world().counters.streams;
  }
  delete of(stream);
  return kOk;
}
EXPORT int cuCtxSynchronize() {
  ENTER_UNRECORDED("cuCtxSynchronize");
  wait_for_all_streams();
  ++world().counters.settled;
  return lost_or_ok();
}
EXPORT int cuStreamSynchronize(void* stream) {
  ENTER_UNRECORDED("cuStreamSynchronize");
  of(stream)->wait();
  return lost_or_ok();
}
EXPORT int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  ENTER_CONTEXT("cuStreamWaitEvent");
  const auto state = event_of(event)->state;
  return of(stream)->give([state, number = state->recorded] { state->wait(number); });
}
EXPORT int cuEventCreate(void** event, unsigned) {
  ENTER_CONTEXT("cuEventCreate");
  *event = new Event;
  ++world().counters.events;
  return kOk;
}
EXPORT int cuEventDestroy_v2(void* event) {
  if (!current_context) return kNoContext;
  delete event_of(event);
  --world().counters.events;
  return kOk;
}
EXPORT int cuEventRecord(void* event, void* stream) {
  ENTER_CONTEXT("cuEventRecord");
  const auto state = event_of(event)->state;
  const std::lock_guard<std::mutex> lock(state->mutex);
  const uint64_t number = ++state->recorded;
  return of(stream)->give([state, number] {
    const std::lock_guard<std::mutex> inner(state->mutex);
    state->completed = std::max(state->completed, number);
    state->changed.notify_all();
  });
}
EXPORT int cuEventQuery(void* event) {
  ENTER_UNRECORDED("cuEventQuery");
  const auto state = event_of(event)->state;
  const std::lock_guard<std::mutex> lock(state->mutex);
  return state->completed >= state->recorded ? kOk : kNotReady;
}
EXPORT int cuEventSynchronize(void* event) {
  ENTER_UNRECORDED("cuEventSynchronize");
  const auto state = event_of(event)->state;
  state->wait(state->recorded);
  return lost_or_ok();
}

EXPORT int cuEventElapsedTime(float* milliseconds, void*, void*) {
  ENTER_CONTEXT("cuEventElapsedTime");
  *milliseconds = 1;
  return kOk;
}

EXPORT int cuStreamBeginCapture_v2(void* stream, int) {
  ENTER_CONTEXT("cuStreamBeginCapture_v2");
  if (of(stream)->recording) return kInvalid;
  of(stream)->recording = std::make_unique<std::vector<Work>>();
  of(stream)->has_failed = false;
  of(stream)->has_recorded_early = false;
  of(stream)->is_behind_kernel = false;
  recording_stream = of(stream);
  return kOk;
}
EXPORT int cuStreamEndCapture(void* stream, void** graph) {
  ENTER_CONTEXT("cuStreamEndCapture");
  if (!of(stream)->recording) return kInvalid;
  const std::unique_ptr<std::vector<Work>> recorded = std::move(of(stream)->recording);
  recording_stream = nullptr;
  of(stream)->is_behind_kernel = false;
  *graph = nullptr;
  if (of(stream)->has_failed) return kCaptureInvalidated;
  *graph = new Graph{std::move(*recorded), of(stream)->has_recorded_early};
  ++world().counters.captures;
  return kOk;
}
EXPORT int cuGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return kOk;
}
EXPORT int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  ENTER_CONTEXT("cuGraphInstantiateWithFlags");
  if (world().settings.early == 2 && static_cast<Graph*>(graph)->has_early) return kInvalid;
  *executable = new Graph(*static_cast<Graph*>(graph));
  ++world().counters.graphs;
  return kOk;
}
EXPORT int cuGraphLaunch(void* executable, void* stream) {
  ENTER_CONTEXT("cuGraphLaunch");
  ++world().counters.graph_launches;
  return of(stream)->give([executable] {
    for (const Work& work : static_cast<Graph*>(executable)->works) work();
  });
}
EXPORT int cuGraphExecDestroy(void* executable) {
  if (!current_context) return kNoContext;
  delete static_cast<Graph*>(executable);
  --world().counters.graphs;
  return kOk;
}
// NOLINTEND(readability-identifier-naming)
