// SPDX-License-Identifier: Apache-2.0
// Functions shared by Loop (control_flow.cc) and Scan (scan.cc). Used by the thread of the run.
#pragma once

#include "run/frame.h"

namespace gantry {

/// Sets the captured values of a body from the slots of the enclosing frame.
void pass_captures(Frame& frame, const Step& step, Frame& body);
/// Moves the value of a body's slot into a slot that belongs to no frame. The elements of a view
/// are copied: they may be those of a body input, which the next iteration replaces.
void keep(Frame& body, Slot& source, Slot& target);
/// Runs a Scan step (ai.onnx Scan-8 and later).
void run_scan(Frame& frame, uint32_t step_index);

}  // namespace gantry
