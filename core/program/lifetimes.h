// SPDX-License-Identifier: Apache-2.0
// What follows from the order of a program's steps, once all of them stand. Pure functions of their
// arguments.
#pragma once

#include <vector>

#include "memory/device_table.h"
#include "program/step.h"

namespace gantry {

/// Writes into the steps when a slot is read for the last time, who may take its memory over, and
/// where the host must wait for a device.
void find_lifetimes(std::vector<Step>& steps, const std::vector<SlotInfo>& slots,
                    const std::vector<OutputSource>& outputs);

/// Finds the inputs and outputs of a session that may lie in a device's memory for its runs:
/// writes their spaces, by input and by output, and SlotInfo::resident_output.
void find_homes(const std::vector<Step>& steps, const std::vector<uint32_t>& inputs,
                const std::vector<OutputSource>& outputs, std::vector<SlotInfo>& slots,
                std::vector<uint32_t>& input_homes, std::vector<uint32_t>& output_homes);

/// Marks the steps that follow each other on one device and may be captured as one; a single kernel
/// gains nothing. True if there are any. Requires lifetimes.
bool find_capturable_segments(std::vector<Step>& steps, const std::vector<SlotInfo>& slots,
                              const DeviceTable& devices);

}  // namespace gantry
