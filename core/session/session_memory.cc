// SPDX-License-Identifier: Apache-2.0
// Tensors for the inputs and outputs of a session, where its providers use them in place.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/value.h"
#include "plugin/isolation/shared_tensor.h"
#include "schedule/copy_across.h"
#include "session/session_impl.h"

namespace gantry {
namespace {

std::vector<int64_t> extents_of(const ValueInfo& info, std::vector<int64_t> wanted) {
  const bool is_open = !info.has_rank || std::any_of(info.shape.begin(), info.shape.end(),
                                                     [](int64_t extent) { return extent < 0; });
  if (!wanted.empty()) return wanted;
  if (is_open) {
    throw Error(Code::kInvalidArgument, "\"" + info.name + "\": the model leaves its shape open, " +
                                            "and none was given; name the extents");
  }
  return info.shape;
}

}  // namespace

Tensor Session::Impl::allocate(const std::string& name, std::vector<int64_t> shape) const {
  const auto input = input_index.find(name);
  const bool is_input = input != input_index.end();
  const size_t index = is_input ? input->second : index_of_output(name);
  const ValueInfo& info = is_input ? inputs[index] : outputs[index];
  if (info.kind != Kind::kTensor || info.dtype == DType::kString ||
      info.dtype == DType::kUndefined) {
    throw Error(Code::kInvalidArgument, "\"" + name +
                                            "\" is no tensor of numbers, so there is no "
                                            "memory to be had for it");
  }
  const Program& program = executor->program();
  const uint32_t slot = is_input ? program.inputs()[index] : program.outputs()[index].slot;
  const uint32_t area = slot == kNoSlot ? 0 : program.slots()[slot].area;
  std::vector<int64_t> extents = extents_of(info, std::move(shape));
  Value value(area == 0 ? make_tensor(info.dtype, std::move(extents))
                        : make_tensor_in(executor->devices().area(area).shared(), info.dtype,
                                         std::move(extents)));
  if (is_input) {
    check_input(index, value);
  } else {
    check_output(index, value);
  }
  return value.tensor();
}

Tensor Session::Impl::allocate_bytes(uint64_t size_bytes) const {
  if (size_bytes > static_cast<uint64_t>(INT64_MAX)) {
    throw Error(Code::kInvalidArgument, "allocate_bytes: expected less than 2^63 bytes, found " +
                                            std::to_string(size_bytes));
  }
  const Program& program = executor->program();
  uint32_t area = 0;
  const auto look_at = [&](uint32_t slot) {
    if (area == 0 && slot != kNoSlot) area = program.slots()[slot].area;
  };
  for (const uint32_t slot : program.inputs()) look_at(slot);
  for (const OutputSource& output : program.outputs()) look_at(output.slot);
  std::vector<int64_t> shape = {static_cast<int64_t>(size_bytes)};
  return Value(area == 0 ? make_tensor(DType::kUint8, std::move(shape))
                         : make_tensor_in(executor->devices().area(area).shared(), DType::kUint8,
                                          std::move(shape)))
      .tensor();
}

Tensor Session::Impl::allocate_on(const std::string& device, DType dtype,
                                  std::vector<int64_t> shape) const {
  const Device wanted = Device::parse(device);
  const DeviceTable& devices = executor->devices();
  uint32_t space = 1;
  while (space < devices.space_count() && devices.device(space) != wanted) ++space;
  if (space == devices.space_count()) {
    std::string used;
    for (uint32_t i = 1; i < devices.space_count(); ++i)
      used += (used.empty() ? "" : ", ") + devices.device(i).to_string();
    throw Error(Code::kInvalidArgument,
                "allocate_on: expected a device with memory of its own that "
                "the session uses (" +
                    (used.empty() ? "none" : used) + "), found " + wanted.to_string());
  }
  if (dtype == DType::kString || bits_of(dtype) == 0) {
    throw Error(Code::kInvalidArgument,
                "allocate_on: expected a type of numbers, found " + std::string(to_string(dtype)));
  }
  const uint64_t size_bytes = bytes_of(dtype, element_count(shape));
  const uint64_t held_bytes = std::max<uint64_t>(size_bytes, 1);
  const MemorySpace& memory = devices.space(space);
  std::shared_ptr<void> data(memory.allocate(held_bytes),
                             [owner = executor->shared_devices(), space, held_bytes](void* block) {
                               owner->space(space).free(block, held_bytes);
                             });
  void* const address = data.get();
  ValueRef value = view_tensor(dtype, std::move(shape), address, size_bytes, std::move(data));
  value->home = std::make_shared<DeviceHome>(DeviceHome{wanted, memory.device});
  return Value(std::move(value)).tensor();
}

void Session::Impl::copy(const Tensor& from, Tensor& to) const {
  if (!from.handle() || !to.handle() || from.dtype() != to.dtype() || from.shape() != to.shape() ||
      from.dtype() == DType::kString) {
    const auto text = [](const Tensor& tensor) {
      return tensor.handle() ? gantry::describe(*tensor.handle()) : std::string("nothing");
    };
    throw Error(Code::kInvalidArgument,
                "copy: expected two tensors of numbers of one type and shape, found " + text(from) +
                    " and " + text(to));
  }
  copy_across(executor->devices(), *from.handle(), *to.handle());
}

Tensor Session::allocate_on(const std::string& device, DType dtype,
                            std::vector<int64_t> shape) const {
  return impl_->allocate_on(device, dtype, std::move(shape));
}

void Session::copy(const Tensor& from, Tensor& to) const { impl_->copy(from, to); }

Tensor Session::allocate(const std::string& name, std::vector<int64_t> shape) const {
  return impl_->allocate(name, std::move(shape));
}

Tensor Session::allocate_bytes(uint64_t size_bytes) const {
  return impl_->allocate_bytes(size_bytes);
}

}  // namespace gantry
