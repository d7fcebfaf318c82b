// SPDX-License-Identifier: Apache-2.0
// Chooses the values of a program that live in memory shared with a worker process, so that its
// provider reads and writes them without copies. Pure, but adds shared-memory regions to
// the device table.
#pragma once

#include <vector>

#include "memory/device_table.h"
#include "program/step.h"

namespace gantry {

/// Sets SlotInfo::shared_region of these slots: inputs of steps of isolated providers, graph
/// outputs that such steps make, all other graph outputs (which may be inputs of the next run), and
/// inputs whose memory such an output may share (gantry_port.repeats).
void assign_shared_regions(const std::vector<Step>& steps, const std::vector<OutputSource>& outputs,
                           DeviceTable& devices, std::vector<SlotInfo>& slots);

}  // namespace gantry
