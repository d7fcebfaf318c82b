// SPDX-License-Identifier: Apache-2.0
// Compiles a placed graph to a program, and places claims again that cannot be compiled. One thread
// at a time.
#pragma once

#include <memory>

#include "memory/device_table.h"
#include "program/program.h"
#include "session/plan/plan_model.h"

namespace gantry {

struct BuiltProgram {
  std::shared_ptr<DeviceTable> devices;  ///< counts against the session's budget
  std::unique_ptr<const Program> program;
};

/// Compiles the program. If a provider cannot compile a claim, the graph is placed again without
/// that claim, and the nodes' reasons say so. Errors: CompileFailure (node, provider and reason) if
/// no other candidate of the session claims the nodes; OUT_OF_MEMORY, DEVICE_LOST.
BuiltProgram build_program(PlannedModel& planned, const Preference& preference,
                           const std::shared_ptr<MemoryBudget>& budget,
                           const BuildOptions& options);

}  // namespace gantry
