// SPDX-License-Identifier: Apache-2.0
// The caller's device tensors: allocated, borrowed, imported from other libraries, copied.
#include <string>
#include <utility>

#include "base/value.h"
#include "run/resident.h"
#include "session/runtime_impl.h"
#include "session/session_impl.h"

namespace gantry {
namespace {

Tensor tensor_of(ValueRef value) { return Value(std::move(value)).tensor(); }

bool is_taken_at(const MemorySpace& space, const void* data) {
  return reinterpret_cast<uintptr_t>(data) % alignment_of(space) == 0;
}

void require_numeric(const std::string& subject, DType dtype) {
  if (dtype != DType::kString && bits_of(dtype) != 0) return;
  throw Error(Code::kInvalidArgument,
              subject + ": expected a type of numbers, found " + std::string(to_string(dtype)));
}

std::string text_of(DlpackDevice device) {
  return "(" + std::to_string(device.type) + ", " + std::to_string(device.id) + ")";
}

}  // namespace

uint32_t Session::Impl::space_on(const std::string& subject, const std::string& device) const {
  const Device wanted = Device::parse(device);
  const DeviceTable& devices = executor->devices();
  std::string used;
  for (uint32_t space = 1; space < devices.space_count(); ++space) {
    if (devices.device(space) == wanted) return space;
    used += (used.empty() ? "" : ", ") + devices.device(space).to_string();
  }
  throw Error(Code::kInvalidArgument, subject +
                                          ": expected a device with memory of its own that the "
                                          "session uses (" +
                                          (used.empty() ? "none" : used) + "), found " +
                                          wanted.to_string());
}

Tensor Session::Impl::allocate_on(const std::string& device, DType dtype,
                                  std::vector<int64_t> shape) const {
  const uint32_t space = space_on("allocate_on", device);
  require_numeric("allocate_on", dtype);
  return tensor_of(make_resident(executor->shared_devices(), space, dtype, std::move(shape)));
}

Tensor Session::Impl::borrow_on(const std::string& device, DType dtype, std::vector<int64_t> shape,
                                void* data, std::shared_ptr<const void> owner) const {
  const uint32_t space = space_on("borrow_on", device);
  const MemorySpace& memory = executor->devices().space(space);
  if (!data || !is_taken_at(memory, data)) {
    throw Error(Code::kInvalidArgument, "borrow_on: expected an address that is a multiple of " +
                                            std::to_string(alignment_of(memory)) + ", found " +
                                            std::to_string(reinterpret_cast<uintptr_t>(data)) +
                                            "; copy what lies there to a tensor of allocate_on");
  }
  require_numeric("borrow_on", dtype);
  return tensor_of(view_resident(executor->shared_devices(), space, dtype, std::move(shape), data,
                                 std::move(owner)));
}

Tensor Session::Impl::adopt(DlpackDevice device,
                            const std::function<ForeignMemory(uintptr_t)>& hand_over) const {
  const std::shared_ptr<const DeviceTable>& devices = executor->shared_devices();
  uint32_t space = 0;
  std::string shared;
  for (uint32_t i = 1; i < devices->space_count() && space == 0; ++i) {
    const gantry_shared_memory* extension = devices->space(i).shared_memory;
    if (!extension) continue;
    DlpackDevice name;
    extension->device_of(devices->space(i).device, &name.type, &name.id);
    if (name == device) space = i;
    shared += (shared.empty() ? "" : ", ") + devices->device(i).to_string() + " " + text_of(name);
  }
  if (space == 0) {
    throw Error(Code::kInvalidArgument,
                "expected memory of a device of the session's that libraries share (" +
                    (shared.empty() ? "none" : shared) + "), found DLPack's device " +
                    text_of(device) + "; copy it to the host first");
  }
  const MemorySpace& memory = devices->space(space);
  ValueRef value;
  // Keeps the source alive until with_stream() has waited for the copy.
  std::shared_ptr<const void> source_owner;
  with_stream(memory, [&](gantry_stream* stream) {
    ForeignMemory given = hand_over(memory.shared_memory->stream_of(stream));
    source_owner = given.owner;
    const bool is_in_place = given.data && is_taken_at(memory, given.data);
    value =
        view_resident(devices, space, given.dtype, given.shape, given.data, std::move(given.owner));
    if (is_in_place) return;
    const ValueRef copy = make_resident(devices, space, given.dtype, std::move(given.shape));
    copy_within(memory, stream, *value, *copy);
    value = copy;
  });
  return tensor_of(std::move(value));
}

Tensor Session::allocate_on(const std::string& device, DType dtype,
                            std::vector<int64_t> shape) const {
  return impl().allocate_on(device, dtype, std::move(shape));
}

Tensor Session::borrow_on(const std::string& device, DType dtype, std::vector<int64_t> shape,
                          void* data, std::shared_ptr<const void> owner) const {
  return impl().borrow_on(device, dtype, std::move(shape), data, std::move(owner));
}

Tensor Session::adopt(DlpackDevice device,
                      const std::function<ForeignMemory(uintptr_t)>& hand_over) const {
  return impl().adopt(device, hand_over);
}

void Session::copy(const Tensor& from, Tensor& to) {
  if (!from.handle() || !to.handle() || from.dtype() != to.dtype() || from.shape() != to.shape() ||
      from.dtype() == DType::kString) {
    const auto text = [](const Tensor& tensor) {
      return tensor.handle() ? gantry::describe(*tensor.handle()) : std::string("nothing");
    };
    throw Error(Code::kInvalidArgument,
                "copy: expected two tensors of numbers of one type and shape, found " + text(from) +
                    " and " + text(to));
  }
  copy_across(*from.handle(), *to.handle());
}

Tensor Runtime::allocate_on(const std::string& device, DType dtype, std::vector<int64_t> shape) {
  const Device wanted = Device::parse(device);
  const auto devices = std::make_shared<DeviceTable>();
  const uint32_t space = devices->space_of(wanted, impl().registry.find(wanted));
  if (space == 0) {
    throw Error(Code::kInvalidArgument,
                "allocate_on: expected a device with memory of its own, found " +
                    wanted.to_string() + ", which works in host memory");
  }
  require_numeric("allocate_on", dtype);
  return tensor_of(make_resident(devices, space, dtype, std::move(shape)));
}

}  // namespace gantry
