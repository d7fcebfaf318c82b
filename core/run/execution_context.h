// SPDX-License-Identifier: Apache-2.0
// The mutable state of a run: the program's main frame, the captures of that frame, and the
// resources of both. Used by one run at a time and reused by the next.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/memory_plan.h"
#include "run/capture.h"
#include "run/frame.h"
#include "run/run_resources.h"

namespace gantry {

class ExecutionContext {
 public:
  /// `threads`: number of threads that the run may use. Program and devices must outlive the
  /// context. Errors: of creating streams and the kernels' contexts.
  ExecutionContext(const Program& program, const DeviceTable& devices, uint32_t threads);
  /// Waits until the devices are idle.
  ~ExecutionContext();
  ExecutionContext(const ExecutionContext&) = delete;
  ExecutionContext& operator=(const ExecutionContext&) = delete;

  [[nodiscard]] RunResources& resources() { return resources_; }
  [[nodiscard]] const RunResources& resources() const { return resources_; }
  [[nodiscard]] Frame& main() { return main_; }
  [[nodiscard]] CaptureCache& captures() { return captures_; }
  /// Frees all memory, and with it the captures and the plan, which hold addresses in it. Between
  /// runs only.
  void drop_memory();

  std::shared_ptr<const MemoryPlan> plan;  ///< bound to the main frame
  Signature signature;                     ///< of the run, reused between runs
  std::vector<ValueRef> held_inputs;       ///< inputs of the run that a hung device may still read

 private:
  RunResources resources_;  // before what uses it
  Frame main_;
  CaptureCache captures_;
};

}  // namespace gantry
