// SPDX-License-Identifier: Apache-2.0
// From a placed graph to a program: compiles, and places again what could not
// be compiled. One thread at a time.
#pragma once

#include <memory>

#include "memory/device_table.h"
#include "program/program.h"
#include "session/plan_model.h"

namespace gantry {

struct BuiltProgram {
  std::shared_ptr<DeviceTable> devices;  ///< with the budget
  std::unique_ptr<const Program> program;
};

/// A claim that its provider cannot compile is given up, and the graph placed
/// without it, as far as the devices that the session may use take the nodes;
/// the reason stays with them. Errors: what compile says if nobody else takes
/// them (node, provider and reason), OUT_OF_MEMORY, DEVICE_LOST.
BuiltProgram build_program(PlannedModel& planned, const Preference& preference,
                           const std::shared_ptr<MemoryBudget>& budget,
                           const BuildOptions& options);

}  // namespace gantry
