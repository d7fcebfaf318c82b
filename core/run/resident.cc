// SPDX-License-Identifier: Apache-2.0
#include "run/resident.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace gantry {
namespace {

constexpr uint32_t kBlockAlignment = 64;  // of every provider's blocks (docs/ABI.md, P10)

// The device of a resident tensor: keeps it open and gives access to its memory space.
struct ResidentDevice : TensorDevice {
  std::shared_ptr<const DeviceTable> devices;
  uint32_t space = 0;

  [[nodiscard]] const MemorySpace& memory() const { return devices->space(space); }
};

void enqueue(const MemorySpace& space, gantry_stream* stream, gantry_copy_kind kind,
             const gantry_value& from, const gantry_value& to) {
  const uint64_t bytes = from.view.size_bytes;
  const gantry_copy copy = {
      sizeof(copy), static_cast<uint32_t>(kind), to.view.data, from.view.data, 1, bytes, bytes,
      bytes};
  space.check(space.api->copy(stream, &copy), space.name());
}

void copy_by(const gantry_value& owned, gantry_copy_kind kind, const gantry_value& from,
             const gantry_value& to) {
  const MemorySpace& space = static_cast<const ResidentDevice&>(*owned.device).memory();
  with_stream(space, [&](gantry_stream* stream) { enqueue(space, stream, kind, from, to); });
}

std::shared_ptr<ResidentDevice> device_of_space(const std::shared_ptr<const DeviceTable>& devices,
                                                uint32_t space) {
  auto device = std::make_shared<ResidentDevice>();
  device->name = devices->device(space);
  device->handle = devices->space(space).device;
  device->devices = devices;
  device->space = space;
  if (const gantry_shared_memory* shared = devices->space(space).shared_memory) {
    DlpackDevice& name = device->dlpack.emplace();
    shared->device_of(devices->space(space).device, &name.type, &name.id);
  }
  return device;
}

// Called before lent memory is freed: waits for the other library's work on it, so that the next
// user of the memory does not race with it.
void settle(const ResidentDevice& device) noexcept {
  const MemorySpace& space = device.memory();
  if (!device.was_lent || space.is_elsewhere() || space.is_hung()) return;
  try {
    space.check(space.shared_memory->settle(space.device), space.name());
  } catch (const Error&) {  // nothing runs on a lost device; the next call returns its error
  }
}

}  // namespace

ValueRef make_resident(const std::shared_ptr<const DeviceTable>& devices, uint32_t space,
                       DType dtype, std::vector<int64_t> shape) {
  const uint64_t size_bytes = bytes_of(dtype, element_count(shape));
  const uint64_t held_bytes = std::max<uint64_t>(size_bytes, 1);
  const std::shared_ptr<ResidentDevice> device = device_of_space(devices, space);
  std::shared_ptr<void> data(devices->space(space).allocate(held_bytes),
                             [device, held_bytes](void* block) {
                               settle(*device);
                               device->memory().free(block, held_bytes);
                             });
  void* const address = data.get();
  ValueRef value = view_tensor(dtype, std::move(shape), address, size_bytes, std::move(data));
  value->device = device;
  return value;
}

ValueRef view_resident(const std::shared_ptr<const DeviceTable>& devices, uint32_t space,
                       DType dtype, std::vector<int64_t> shape, void* data,
                       std::shared_ptr<const void> owner) {
  const uint64_t size_bytes = bytes_of(dtype, element_count(shape));
  ValueRef value = view_tensor(dtype, std::move(shape), data, size_bytes, std::move(owner));
  value->device = device_of_space(devices, space);
  return value;
}

uint32_t alignment_of(const MemorySpace& space) {
  return space.shared_memory ? space.shared_memory->alignment : kBlockAlignment;
}

uint32_t space_of(const DeviceTable& devices, const gantry_value& tensor) {
  if (!tensor.device) return 0;
  for (uint32_t space = 1; space < devices.space_count(); ++space) {
    if (devices.space(space).device == tensor.device->handle) return space;
  }
  throw Error(Code::kInvalidArgument,
              describe(tensor) + " is in the memory of " + tensor.device->name.to_string() +
                  ", expected host memory or that of a device that the session uses");
}

void with_stream(const MemorySpace& space, const std::function<void(gantry_stream*)>& work) {
  space.require_good();
  gantry_stream* stream = nullptr;
  space.check(space.api->stream_create(space.device, &stream), space.name());
  const auto finish = [&] {
    gantry_error* error = space.api->stream_synchronize(stream);
    space.api->stream_destroy(stream);
    space.check(error, space.name());
  };
  try {
    work(stream);
  } catch (...) {
    try {
      finish();
    } catch (const Error&) {  // the error of `work` came first, and is the cause
    }
    throw;
  }
  finish();
}

void copy_within(const MemorySpace& space, gantry_stream* stream, const gantry_value& from,
                 const gantry_value& to) {
  if (from.view.size_bytes > 0) enqueue(space, stream, GANTRY_COPY_WITHIN_DEVICE, from, to);
}

void copy_across(const gantry_value& from, const gantry_value& to) {
  if (from.view.size_bytes == 0) return;
  if (!from.device && !to.device) {
    std::memmove(to.view.data, from.view.data, from.view.size_bytes);
  } else if (!from.device) {
    copy_by(to, GANTRY_COPY_HOST_TO_DEVICE, from, to);
  } else if (!to.device) {
    copy_by(from, GANTRY_COPY_DEVICE_TO_HOST, from, to);
  } else if (from.device->handle == to.device->handle) {
    copy_by(from, GANTRY_COPY_WITHIN_DEVICE, from, to);
  } else {
    const ValueRef between = make_tensor(from.dtype, from.shape);
    copy_across(from, *between);
    copy_across(*between, to);
  }
}

}  // namespace gantry
