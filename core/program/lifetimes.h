// SPDX-License-Identifier: Apache-2.0
// Analyses of a program's steps, once their order is final. Pure functions of their arguments.
#pragma once

#include <vector>

#include "memory/device_table.h"
#include "program/step.h"

namespace gantry {

/// Sets Step::releases (last uses), Step::ends_here (inputs whose memory may be reused) and
/// Step::waits (where the host must wait for a device).
void find_lifetimes(std::vector<Step>& steps, const std::vector<SlotInfo>& slots,
                    const std::vector<OutputSource>& outputs);

/// Finds the graph inputs and outputs for which the caller's device tensors can be used in place.
/// Sets Program::resident_inputs, Program::resident_outputs and SlotInfo::resident_output.
void find_residents(const std::vector<Step>& steps, const std::vector<uint32_t>& inputs,
                    const std::vector<OutputSource>& outputs, std::vector<SlotInfo>& slots,
                    std::vector<uint32_t>& resident_inputs,
                    std::vector<uint32_t>& resident_outputs);

/// Finds capturable segments: two or more consecutive steps on one device. Sets
/// Step::capturable_steps; true if there is a segment. Requires find_lifetimes().
bool find_capturable_segments(std::vector<Step>& steps, const std::vector<SlotInfo>& slots,
                              const DeviceTable& devices);

}  // namespace gantry
