// SPDX-License-Identifier: Apache-2.0
// What Loop and Scan have in common, and what each of the two files offers the other. Used by the
// thread of the run.
#pragma once

#include "run/frame.h"

namespace gantry {

/// Sets what a body reads from outside, from the slots of the frame around it.
void pass_captures(Frame& frame, const Step& step, Frame& body);
/// Moves what a body's slot holds into a slot that belongs to no frame. Views are copied: what they
/// show may be an input of the body, which the next iteration replaces.
void keep(Frame& body, Slot& source, Slot& target);
/// Runs a Scan of any version.
void run_scan(Frame& frame, uint32_t step_index);

}  // namespace gantry
