// SPDX-License-Identifier: Apache-2.0
// Copies of tensors of the caller's between host memory and devices, outside of the steps of a
// program. Any thread.
#pragma once

#include <cstdint>

#include "base/value.h"
#include "schedule/device_table.h"

namespace gantry {

/// The space that a tensor is in, 0 for host memory. INVALID_ARGUMENT: a device that is not in the
/// table.
uint32_t space_of(const DeviceTable& devices, const gantry_value& tensor);

/// Copies the elements of one tensor to another of the same size and waits for it, over host memory
/// from one device to another. Errors: as space_of, and those of the devices.
void copy_across(const DeviceTable& devices, const gantry_value& from, const gantry_value& to);

}  // namespace gantry
