// SPDX-License-Identifier: Apache-2.0
// Compiles granted claims by their providers. Compiling takes most of the loading time, and claims
// are independent, so claims in host memory are compiled on all cores.
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

/// The other arguments of compile_claims; borrowed during the call.
struct CompileSite {
  const GraphPlacement& placement;
  const DeviceTable& devices;
  const std::vector<SlotInfo>& slots;  ///< of the program, with the formats that were granted
  const BuildOptions& options;
};

/// Sets the kernel and the mark of each claim's step; the step's node, provider, device, inputs and
/// outputs must be set. Stores the compiled forms in the artefact, and drops the mapped pages of
/// constants that only compiling reads. Called by one thread; returns when all claims are compiled.
/// Errors, of the first claim that fails: CompileFailure, DEVICE_LOST.
void compile_claims(const CompileSite& site, const std::vector<UncompiledClaim>& claims,
                    std::vector<Step>& steps);

}  // namespace gantry
