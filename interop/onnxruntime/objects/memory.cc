// SPDX-License-Identifier: Apache-2.0
#include "objects/memory.h"

#include <cstdlib>

#include "objects/api_table.h"
#include "objects/status.h"

namespace gantry::ort {
namespace {

constexpr int kHostDevice = 0;  // OrtMemoryInfoDeviceType

void* allocate(Allocator*, size_t bytes) {
  constexpr size_t kAlignment = 64;
  return std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
}
void release(Allocator*, void* memory) { std::free(memory); }
const MemoryInfo* info_of(const Allocator*) { return &host_memory(); }

Status* create_cpu_memory_info(int allocator_type, int memory_type, MemoryInfo** out) {
  return guarded([&] { *out = new MemoryInfo{allocator_type, memory_type, kHostDevice}; });
}
// Whatever device the name means: there is no other memory here.
Status* create_memory_info(const char*, int allocator_type, int, int memory_type,
                           MemoryInfo** out) {
  return create_cpu_memory_info(allocator_type, memory_type, out);
}
void release_memory_info(MemoryInfo* info) { delete info; }

Status* compare_memory_info(const MemoryInfo* a, const MemoryInfo* b, int* out) {
  const bool is_same = a->allocator_type == b->allocator_type && a->memory_type == b->memory_type &&
                       a->device_type == b->device_type;
  *out = is_same ? 0 : -1;
  return nullptr;
}
Status* get_name(const MemoryInfo*, const char** out) {
  *out = "Cpu";
  return nullptr;
}
Status* get_id(const MemoryInfo*, int* out) {
  *out = 0;
  return nullptr;
}
Status* get_memory_type(const MemoryInfo* info, int* out) {
  *out = info->memory_type;
  return nullptr;
}
Status* get_allocator_type(const MemoryInfo* info, int* out) {
  *out = info->allocator_type;
  return nullptr;
}
// Memory of a device that programs can reach as the host's own (OrtDeviceMemoryType 5) counts as
// that.
Status* create_memory_info_v2(const char*, int device_type, uint32_t, int32_t, int device_memory,
                              size_t, int allocator_type, MemoryInfo** out) {
  constexpr int kHostAccessible = 5;
  const int device = device_memory == kHostAccessible ? kHostDevice : device_type;
  return guarded([&] { *out = new MemoryInfo{allocator_type, 0, device}; });
}
int get_device_memory_type(const MemoryInfo*) { return 0; }
uint32_t get_vendor(const MemoryInfo*) { return 0; }
void get_device_type(const MemoryInfo* info, int* out) { *out = info->device_type; }

Status* allocator_alloc(Allocator* allocator, size_t bytes, void** out) {
  return guarded([&] {
    *out = allocator->allocate(allocator, bytes);
    if (!*out) throw std::bad_alloc();
  });
}
Status* allocator_free(Allocator* allocator, void* memory) {
  allocator->release(allocator, memory);
  return nullptr;
}
Status* allocator_get_info(const Allocator* allocator, const MemoryInfo** out) {
  *out = allocator->info(allocator);
  return nullptr;
}
Status* get_default_allocator(Allocator** out) {
  *out = &host_allocator();
  return nullptr;
}
void release_allocator(Allocator*) {}

}  // namespace

const MemoryInfo& host_memory() noexcept {
  static const MemoryInfo info;
  return info;
}

Allocator& host_allocator() noexcept {
  static Allocator allocator = {kApiVersion, allocate, release, info_of, allocate};
  return allocator;
}

void add_memory_functions(ApiTable& table) {
  table.set(Slot::kCreateMemoryInfo, create_memory_info);
  table.set(Slot::kCreateCpuMemoryInfo, create_cpu_memory_info);
  table.set(Slot::kCompareMemoryInfo, compare_memory_info);
  table.set(Slot::kMemoryInfoGetName, get_name);
  table.set(Slot::kMemoryInfoGetId, get_id);
  table.set(Slot::kMemoryInfoGetMemType, get_memory_type);
  table.set(Slot::kMemoryInfoGetType, get_allocator_type);
  table.set(Slot::kMemoryInfoGetDeviceType, get_device_type);
  table.set(Slot::kCreateMemoryInfoV2, create_memory_info_v2);
  table.set(Slot::kMemoryInfoGetDeviceMemType, get_device_memory_type);
  table.set(Slot::kMemoryInfoGetVendorId, get_vendor);
  table.set(Slot::kReleaseMemoryInfo, release_memory_info);
  table.set(Slot::kAllocatorAlloc, allocator_alloc);
  table.set(Slot::kAllocatorFree, allocator_free);
  table.set(Slot::kAllocatorGetInfo, allocator_get_info);
  table.set(Slot::kGetAllocatorWithDefaultOptions, get_default_allocator);
  table.set(Slot::kReleaseAllocator, release_allocator);
}

}  // namespace gantry::ort
