// SPDX-License-Identifier: Apache-2.0
// The caller's device tensors and copies of them, outside of the steps of a program. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/value.h"
#include "memory/device_table.h"

struct gantry_stream;

namespace gantry {

/// An uninitialised tensor in memory of its own in `space`. It keeps the devices open.
/// OUT_OF_MEMORY; INVALID_ARGUMENT: a negative extent, or a size beyond 63 bits. Requires a type
/// other than string.
ValueRef make_resident(const std::shared_ptr<const DeviceTable>& devices, uint32_t space,
                       DType dtype, std::vector<int64_t> shape);

/// A view of memory in `space`, kept alive by `owner`. Requires that the memory is as large as the
/// shape needs and its address is a multiple of alignment_of().
ValueRef view_resident(const std::shared_ptr<const DeviceTable>& devices, uint32_t space,
                       DType dtype, std::vector<int64_t> shape, void* data,
                       std::shared_ptr<const void> owner);

/// Alignment in bytes that kernels of a space require of addresses.
uint32_t alignment_of(const MemorySpace& space);

/// The memory space of a tensor, 0 for host memory. INVALID_ARGUMENT: its device is not in the
/// table.
uint32_t space_of(const DeviceTable& devices, const gantry_value& tensor);

/// Calls `work` with a new stream of the space and waits for the work on that stream, also if
/// `work` throws. Errors: of the device; what `work` throws.
void with_stream(const MemorySpace& space, const std::function<void(gantry_stream*)>& work);

/// Enqueues a copy of a tensor's elements to another of the same size. Both are in memory of the
/// stream's device.
void copy_within(const MemorySpace& space, gantry_stream* stream, const gantry_value& from,
                 const gantry_value& to);

/// Copies the elements of one tensor to another of the same size and waits for the copy. From one
/// device to another it goes through host memory. Errors: of the devices.
void copy_across(const gantry_value& from, const gantry_value& to);

}  // namespace gantry
