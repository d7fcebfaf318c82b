// SPDX-License-Identifier: Apache-2.0
#include "driver/slots.h"

#include <gantry/peer_copies.h>
#include <gantry/sdk/error.h>
#include <gantry/shared_memory.h>

#include "driver/cuda_graph_capture.h"
#include "driver/event.h"

namespace gantry::cuda {
namespace {

constexpr int32_t kDlpackCuda = 2;        // kDLCUDA
constexpr uint32_t kLeastAlignment = 16;  // bytes; kernels load that many at once (decision 21)

Device* from(gantry_device* device) { return reinterpret_cast<Device*>(device); }
Stream* from(gantry_stream* stream) { return reinterpret_cast<Stream*>(stream); }
Event* from(gantry_event* event) { return reinterpret_cast<Event*>(event); }
CudaGraph* from(gantry_capture* capture) { return reinterpret_cast<CudaGraph*>(capture); }

gantry_error* copy_from_peer(gantry_stream* stream, gantry_stream* source_stream, void* target,
                             const void* source, uint64_t size_bytes) {
  return sdk::guard(from(stream)->device().host, [&] {
    from(stream)->copy_from(*from(source_stream), target, source, size_bytes);
  });
}

void dlpack_device_of(gantry_device* device, int32_t* out_type, int32_t* out_id) {
  *out_type = kDlpackCuda;
  *out_id = from(device)->info.number;  // the driver's ordinal, which other libraries use too
}

gantry_error* settle(gantry_device* device) {
  return sdk::guard(from(device)->host, [&] { from(device)->settle(); });
}

uintptr_t dlpack_stream_of(gantry_stream* stream) {
  return reinterpret_cast<uintptr_t>(from(stream)->handle());
}

// "cuda.stream": the stream as a CUstream; "cuda.memory": a MemoryStatistics, valid until the
// calling thread asks again.
void* native_handle(gantry_device* device, gantry_stream* stream, gantry_str kind) {
  static gantry_peer_copies peers = {sizeof(gantry_peer_copies), 0, copy_from_peer};
  static gantry_shared_memory shared = {sizeof(gantry_shared_memory), kLeastAlignment,
                                        dlpack_device_of, dlpack_stream_of, settle};
  if (sdk::to_view(kind) == GANTRY_PEER_COPIES) return &peers;
  if (sdk::to_view(kind) == GANTRY_SHARED_MEMORY) return &shared;
  if (sdk::to_view(kind) == "cuda.stream" && stream) return from(stream)->handle();
  if (sdk::to_view(kind) != "cuda.memory" || !device) return nullptr;
  thread_local MemoryStatistics memory_statistics;
  memory_statistics = from(device)->memory_statistics();
  return &memory_statistics;
}

}  // namespace

void fill_device_slots(gantry_provider_api& api) {
  api.device_close = [](gantry_device* device) { delete from(device); };
  api.memory_allocate = [](gantry_device* device, uint64_t size_bytes, void** out) {
    return sdk::guard(from(device)->host, [&] { *out = from(device)->allocate(size_bytes); });
  };
  api.memory_free = [](gantry_device* device, void* memory) { from(device)->free(memory); };
  api.native_handle = native_handle;
}

void fill_stream_slots(gantry_provider_api& api) {
  api.stream_create = [](gantry_device* device, gantry_stream** out) {
    return sdk::guard(from(device)->host,
                      [&] { *out = reinterpret_cast<gantry_stream*>(new Stream(*from(device))); });
  };
  api.stream_destroy = [](gantry_stream* stream) { delete from(stream); };
  api.stream_synchronize = [](gantry_stream* stream) {
    return sdk::guard(from(stream)->device().host, [&] { from(stream)->synchronize(); });
  };
  api.copy = [](gantry_stream* stream, const gantry_copy* copy) {
    return sdk::guard(from(stream)->device().host, [&] { from(stream)->copy(*copy); });
  };
  api.event_create = [](gantry_device* device, gantry_event** out) {
    return sdk::guard(from(device)->host,
                      [&] { *out = reinterpret_cast<gantry_event*>(new Event(*from(device))); });
  };
  api.event_destroy = [](gantry_event* event) { delete from(event); };
  api.event_record = [](gantry_event* event, gantry_stream* stream) {
    return sdk::guard(from(event)->device().host, [&] { from(event)->record(*from(stream)); });
  };
  api.event_wait = [](gantry_event* event, gantry_stream* stream) {
    return sdk::guard(from(event)->device().host, [&] { from(event)->wait(*from(stream)); });
  };
  api.event_synchronize = [](gantry_event* event) {
    return sdk::guard(from(event)->device().host, [&] { from(event)->synchronize(); });
  };
  api.event_query = [](gantry_event* event, uint32_t* out_is_complete) {
    return sdk::guard(from(event)->device().host,
                      [&] { *out_is_complete = from(event)->query() ? 1 : 0; });
  };
}

void fill_capture_slots(gantry_provider_api& api) {
  api.capture_begin = [](gantry_stream* stream) {
    return sdk::guard(from(stream)->device().host,
                      [&] { CudaGraph::begin_capture(*from(stream)); });
  };
  api.capture_end = [](gantry_stream* stream, gantry_capture** out) {
    return sdk::guard(from(stream)->device().host, [&] {
      *out = reinterpret_cast<gantry_capture*>(new CudaGraph(*from(stream)));
    });
  };
  api.capture_launch = [](gantry_capture* capture, gantry_stream* stream) {
    return sdk::guard(from(stream)->device().host, [&] { from(capture)->launch(*from(stream)); });
  };
  api.capture_destroy = [](gantry_capture* capture) { delete from(capture); };
}

}  // namespace gantry::cuda
