// SPDX-License-Identifier: Apache-2.0
// Tensors of the caller's in the memory of a device, and their copies, outside of the steps of a
// program. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/value.h"
#include "memory/device_table.h"

struct gantry_stream;

namespace gantry {

/// A tensor in memory of its own in `space`, not initialised, which keeps the devices open.
/// OUT_OF_MEMORY; INVALID_ARGUMENT: a shape that no tensor has. Requires a type of numbers.
ValueRef make_resident(const std::shared_ptr<const DeviceTable>& devices, uint32_t space,
                       DType dtype, std::vector<int64_t> shape);

/// A tensor over memory in `space` that `owner` keeps, which is as large as the shape says.
/// Requires an address that kernels of the device take.
ValueRef view_resident(const std::shared_ptr<const DeviceTable>& devices, uint32_t space,
                       DType dtype, std::vector<int64_t> shape, void* data,
                       std::shared_ptr<const void> owner);

/// What addresses in a space must be multiples of.
uint32_t alignment_of(const MemorySpace& space);

/// The space that a tensor is in, 0 for host memory. INVALID_ARGUMENT: a device that is not in the
/// table.
uint32_t space_of(const DeviceTable& devices, const gantry_value& tensor);

/// Calls `work` with a new stream of the space and waits for what it gave to it. Errors: of the
/// device, and what `work` throws, which is waited for likewise.
void with_stream(const MemorySpace& space, const std::function<void(gantry_stream*)>& work);

/// Enqueues a copy of a tensor's elements to another of the same size, in memory of the stream's
/// device both.
void copy_within(const MemorySpace& space, gantry_stream* stream, const gantry_value& from,
                 const gantry_value& to);

/// Copies the elements of one tensor to another of the same size and waits for it, over host memory
/// from one device to another. Errors of the devices.
void copy_across(const gantry_value& from, const gantry_value& to);

}  // namespace gantry
