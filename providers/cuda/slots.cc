// SPDX-License-Identifier: Apache-2.0
#include "slots.h"

#include <gantry/peer_copies.h>
#include <gantry/sdk/error.h>
#include <gantry/shared_memory.h>

#include "reorder.h"
#include "stream.h"

namespace gantry::cuda {
namespace {

constexpr int32_t kDlpackCuda = 2;        // kDLCUDA
constexpr uint32_t kLeastAlignment = 16;  // bytes; kernels read that many at a time (decision 38)

Device* from(gantry_device* device) { return reinterpret_cast<Device*>(device); }
Stream* from(gantry_stream* stream) { return reinterpret_cast<Stream*>(stream); }
Event* from(gantry_event* event) { return reinterpret_cast<Event*>(event); }
Capture* from(gantry_capture* capture) { return reinterpret_cast<Capture*>(capture); }

gantry_error* copy_from_peer(gantry_stream* stream, gantry_stream* source_stream, void* target,
                             const void* source, uint64_t size_bytes) {
  return sdk::guard(from(stream)->device().host, [&] {
    from(stream)->copy_from(*from(source_stream), target, source, size_bytes);
  });
}

void dlpack_device_of(gantry_device* device, int32_t* out_type, int32_t* out_id) {
  *out_type = kDlpackCuda;
  *out_id = from(device)->facts.number;  // the process's, as other libraries count
}

gantry_error* settle(gantry_device* device) {
  return sdk::guard(from(device)->host, [&] { from(device)->settle(); });
}

uintptr_t dlpack_stream_of(gantry_stream* stream) {
  return reinterpret_cast<uintptr_t>(from(stream)->handle());
}

// "cuda.stream": the stream, as the driver's libraries take it; "cuda.memory": a MemoryFigures,
// which the caller's thread may read until it asks again.
void* native_handle(gantry_device* device, gantry_stream* stream, gantry_str kind) {
  static gantry_peer_copies peers = {sizeof(gantry_peer_copies), 0, copy_from_peer};
  static gantry_shared_memory shared = {sizeof(gantry_shared_memory), kLeastAlignment,
                                        dlpack_device_of, dlpack_stream_of, settle};
  if (sdk::to_view(kind) == GANTRY_PEER_COPIES) return &peers;
  if (sdk::to_view(kind) == GANTRY_SHARED_MEMORY) return &shared;
  if (sdk::to_view(kind) == "cuda.stream" && stream) return from(stream)->handle();
  if (sdk::to_view(kind) != "cuda.memory" || !device) return nullptr;
  thread_local MemoryFigures figures;
  figures = from(device)->figures();
  return &figures;
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

void fill_reorder_slot(gantry_provider_api& api) {
  api.reorder = [](gantry_provider*, gantry_run*, gantry_stream* stream,
                   const gantry_tensor* source, gantry_tensor* target) {
    return sdk::guard(from(stream)->device().host, [&] {
      from(stream)->device().reorders().run(*from(stream), *source, *target);
    });
  };
}

void fill_capture_slots(gantry_provider_api& api) {
  api.capture_begin = [](gantry_stream* stream) {
    return sdk::guard(from(stream)->device().host, [&] { from(stream)->capture_begin(); });
  };
  api.capture_end = [](gantry_stream* stream, gantry_capture** out) {
    return sdk::guard(from(stream)->device().host, [&] {
      Device& device = from(stream)->device();
      *out = reinterpret_cast<gantry_capture*>(new Capture{device, from(stream)->capture_end()});
    });
  };
  api.capture_launch = [](gantry_capture* capture, gantry_stream* stream) {
    return sdk::guard(from(stream)->device().host, [&] { from(capture)->launch(*from(stream)); });
  };
  api.capture_destroy = [](gantry_capture* capture) {
    if (!capture) return;
    const ContextScope inside(from(capture)->device, std::nothrow);
    from(capture)->device.driver.graph_exec_destroy(from(capture)->graph);
    delete from(capture);
  };
}

}  // namespace gantry::cuda
