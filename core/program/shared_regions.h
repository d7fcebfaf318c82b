// SPDX-License-Identifier: Apache-2.0
// Which values of a program lie in memory that a worker process sees, so that nothing is copied on
// the way to its provider and back. Pure but for areas that are added to the device table.
#pragma once

#include <vector>

#include "memory/device_table.h"
#include "program/step.h"

namespace gantry {

/// Sets SlotInfo::area of `slots`: of what steps of isolated providers read, of what such steps
/// make for the caller, of everything else that leaves the session with them, since it may be the
/// next input, and of what these may lie over.
void assign_areas(const std::vector<Step>& steps, const std::vector<OutputSource>& outputs,
                  DeviceTable& devices, std::vector<SlotInfo>& slots);

}  // namespace gantry
