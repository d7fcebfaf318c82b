// SPDX-License-Identifier: Apache-2.0
// OrtApiBase, OrtApi and OrtEpApi as plugin execution providers get them.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "custom_ops/run_context.h"
#include "ep_host/devices.h"
#include "ep_host/functions.h"
#include "ep_host/settings.h"
#include "objects/api_table.h"
#include "objects/memory.h"
#include "objects/status.h"

namespace gantry::ort {
namespace {

KeyValues copy_of(const KeyValues* pairs) { return pairs ? *pairs : KeyValues(); }

Status* create_ep_device(EpFactory* factory, const MachineDevice* device, const KeyValues* metadata,
                         const KeyValues* options, OfferedDevice** out) {
  return guarded([&] {
    auto made = std::make_unique<OfferedDevice>();
    made->factory = factory;
    made->device = device;
    made->metadata = copy_of(metadata);
    made->options = copy_of(options);
    made->name = factory->get_name(factory);
    made->vendor = factory->get_vendor(factory);
    *out = made.release();
  });
}
void release_ep_device(OfferedDevice* device) { delete device; }

Status* add_nodes(SupportedParts* support, const SeenNode* const* nodes, size_t count,
                  const FusionOptions* options) {
  return guarded([&] {
    SupportedParts::Part part{{}, options && options->drops_constants};
    for (size_t i = 0; i < count; ++i) part.ids.push_back(static_cast<uint32_t>(nodes[i]->id));
    std::sort(part.ids.begin(), part.ids.end());
    support->parts.push_back(std::move(part));
  });
}
Status* add_node(SupportedParts* support, const SeenNode* node) {
  return guarded([&] { support->single.push_back(node); });
}
const char* get_node_name(const FusedName* context) { return context->node_name.c_str(); }
Status* add_allocator_info(OfferedDevice* device, const MemoryInfo* info) {
  device->has_own_memory = device->has_own_memory || info->device_type != 0;
  return nullptr;
}

// OrtMemoryDevice is here the OrtMemoryInfo itself.
const MemoryInfo* get_memory_device(const MemoryInfo* info) { return info; }
const MemoryInfo* get_memory_device_of_value(const Value*) { return &host_memory(); }
bool is_same_memory(const MemoryInfo* a, const MemoryInfo* b) {
  return a->device_type == b->device_type;
}
int get_device_type(const MemoryInfo* info) { return info->device_type; }
int get_memory_type(const MemoryInfo*) { return 0; }
uint32_t get_zero(const MemoryInfo*) { return 0; }

const void* get_stream_impl(const void*) { return nullptr; }
uint64_t get_sync_id(const void*) { return 0; }
uint64_t get_last_sync_id(const void*, const void*) { return 0; }

Status* create_device(DeviceType type, uint32_t vendor_id, uint32_t device_id, const char* vendor,
                      const KeyValues* metadata, MachineDevice** out) {
  return guarded([&] {
    *out = new MachineDevice{type, vendor_id, device_id, vendor ? vendor : "", copy_of(metadata)};
  });
}
void release_device(MachineDevice* device) { delete device; }

Status* get_environment_entries(KeyValues** out) {
  return guarded([&] { *out = new KeyValues; });
}

Status* get_weightless_model(const SessionEntries*, const void** data, size_t* size) {
  *data = nullptr;
  *size = 0;
  return nullptr;
}

using Function = void (*)();
using Functions = std::array<Function, 96>;  // more than ONNX Runtime 1.31 has

template <size_t Index>
Status* is_not_there() noexcept {
  return guarded([] {
    throw ApiError(ErrorCode::kNotImplemented,
                   "function " + std::to_string(Index) +
                       " of ONNX Runtime's OrtEpApi, counted from 0, is not there in gantry");
  });
}

/// What is here, by its place in OrtEpApi.
Functions make_ep_api() {
  Functions table = []<size_t... Index>(std::index_sequence<Index...>) {
    return Functions{reinterpret_cast<Function>(&is_not_there<Index>)...};
  }
  (std::make_index_sequence<std::tuple_size_v<Functions>>());
  const auto set = [&](size_t slot, auto* function) {
    table[slot] = reinterpret_cast<Function>(function);
  };
  set(0, create_ep_device);
  set(1, release_ep_device);
  set(2, add_nodes);
  set(3, add_node);
  set(4, get_node_name);
  set(5, add_allocator_info);
  set(6, get_memory_device);
  set(7, get_memory_device_of_value);
  set(8, is_same_memory);
  set(9, get_device_type);
  set(10, get_memory_type);
  set(11, get_zero);  // vendor
  set(12, get_zero);  // device
  set(13, get_stream_impl);
  set(14, get_sync_id);
  set(15, get_last_sync_id);
  set(16, create_device);
  set(17, release_device);
  set(49, get_environment_entries);
  set(73, get_weightless_model);
  return table;
}

const char* version_text() noexcept { return kVersionText; }

ApiTable make_api() {
  ApiTable table;
  add_status_functions(table);
  add_memory_functions(table);
  add_logger_functions(table);
  add_value_functions(table);
  add_type_functions(table);
  add_key_value_functions(table);
  add_run_context_functions(table);
  add_graph_functions(table);
  add_device_functions(table);
  add_metadata_functions(table);
  add_settings_functions(table);
  table.set(Slot::kGetEpApi, ep_api);
  return table;
}

const ApiTable* get_api(uint32_t version) noexcept {
  static const ApiTable table = make_api();
  return version >= 1 && version <= kApiVersion ? &table : nullptr;
}

}  // namespace

const void* ep_api() {
  static const auto table = make_ep_api();
  return &table;
}

const void* api_base() {
  static constexpr ApiBase kBase = {get_api, version_text};
  return &kBase;
}

}  // namespace gantry::ort
