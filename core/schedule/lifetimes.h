// SPDX-License-Identifier: Apache-2.0
// What follows from the order of a program's steps, once all of them stand. Pure functions of their
// arguments.
#pragma once

#include <vector>

#include "schedule/device_table.h"
#include "schedule/program.h"

namespace gantry {

/// Writes into the steps when a slot is read for the last time, who may take its memory over, and
/// where the host must wait for a device.
void find_lifetimes(std::vector<Step>& steps, const std::vector<SlotInfo>& slots,
                    const std::vector<OutputSource>& outputs);

/// Marks the steps that follow each other on one device and may be captured as one; a single kernel
/// gains nothing. True if there are any. Requires lifetimes.
bool find_stretches(std::vector<Step>& steps, const std::vector<SlotInfo>& slots,
                    const DeviceTable& devices);

}  // namespace gantry
