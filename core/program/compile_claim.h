// SPDX-License-Identifier: Apache-2.0
// Granted claims compiled by their providers. Compiling is most of what loading takes, and one
// claim needs nothing of another: those for host memory are compiled on all cores.
#pragma once

#include <cstddef>
#include <vector>

#include "memory/device_table.h"
#include "placement/graph_placement.h"
#include "program/build_options.h"
#include "program/step.h"

namespace gantry {

/// A claim that has a step, but no kernel yet.
struct UncompiledClaim {
  const Claim* claim = nullptr;
  ClaimSlots slots;
  size_t step = 0;  ///< index of its step
};

/// What compiling reads besides the claims and their steps; all borrowed during the call.
struct CompileSite {
  const GraphPlacement& placement;
  const DeviceTable& devices;
  const std::vector<SlotInfo>& slots;  ///< of the program, with the formats that were granted
  const BuildOptions& options;
};

/// Sets the kernel and the mark of each claim's step, which names its node, provider, device,
/// inputs and outputs already; keeps the compiled forms for the artefact, and drops the mapped
/// pages of constants that only compiling reads. One thread; it returns when all are done. Errors,
/// of the first claim that has one: CompileFailure, DEVICE_LOST.
void compile_claims(const CompileSite& site, const std::vector<UncompiledClaim>& claims,
                    std::vector<Step>& steps);

}  // namespace gantry
