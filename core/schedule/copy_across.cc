// SPDX-License-Identifier: Apache-2.0
#include "schedule/copy_across.h"

#include <cstring>
#include <string>

namespace gantry {
namespace {

void copy_by(const MemorySpace& space, gantry_copy_kind kind, const gantry_value& from,
             const gantry_value& to) {
  const uint64_t bytes = from.view.size_bytes;
  const gantry_copy copy = {
      sizeof(copy), static_cast<uint32_t>(kind), to.view.data, from.view.data, 1, bytes, bytes,
      bytes};
  space.require_good();
  gantry_stream* stream = nullptr;
  space.check(space.api->stream_create(space.device, &stream), space.name());
  gantry_error* error = space.api->copy(stream, &copy);
  if (!error) error = space.api->stream_synchronize(stream);
  space.api->stream_destroy(stream);
  space.check(error, space.name());
}

}  // namespace

uint32_t space_of(const DeviceTable& devices, const gantry_value& tensor) {
  if (!tensor.home) return 0;
  for (uint32_t space = 1; space < devices.space_count(); ++space) {
    if (devices.space(space).device == tensor.home->handle) return space;
  }
  throw Error(Code::kInvalidArgument,
              describe(tensor) + " is in the memory of " + tensor.home->device.to_string() +
                  ", expected host memory or that of a device that the session uses");
}

void copy_across(const DeviceTable& devices, const gantry_value& from, const gantry_value& to) {
  const uint32_t source = space_of(devices, from);
  const uint32_t target = space_of(devices, to);
  if (from.view.size_bytes == 0) return;
  if (source == 0 && target == 0) {
    std::memmove(to.view.data, from.view.data, from.view.size_bytes);
  } else if (source == target) {
    copy_by(devices.space(source), GANTRY_COPY_WITHIN_DEVICE, from, to);
  } else if (source == 0) {
    copy_by(devices.space(target), GANTRY_COPY_HOST_TO_DEVICE, from, to);
  } else if (target == 0) {
    copy_by(devices.space(source), GANTRY_COPY_DEVICE_TO_HOST, from, to);
  } else {
    const ValueRef between = make_tensor(from.dtype, from.shape);
    copy_across(devices, from, *between);
    copy_across(devices, *between, to);
  }
}

}  // namespace gantry
