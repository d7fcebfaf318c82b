// SPDX-License-Identifier: Apache-2.0
// A granted claim compiled by its provider. One thread.
#pragma once

#include <vector>

#include "schedule/device_table.h"
#include "schedule/groups.h"
#include "schedule/placement.h"
#include "schedule/program.h"

namespace gantry {

/// What compiling a claim reads besides its step; all borrowed during the call.
struct CompileSite {
  const Claim& claim;
  const ClaimSlots& claim_slots;
  const GraphPlacement& placement;
  const std::vector<SlotInfo>& slots;  ///< of the program, with the formats that were granted
  const MemorySpace& space;            ///< in which the kernel runs
  const BuildOptions& options;
};

/// Sets the kernel and the mark of `step`, which names its node, provider, device, inputs and
/// outputs already; keeps the compiled form for the artefact, and drops the mapped pages of
/// constants that only compiling reads. Errors: CompileFailure, DEVICE_LOST.
void compile_claim(const CompileSite& site, Step& step);

}  // namespace gantry
