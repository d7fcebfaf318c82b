// SPDX-License-Identifier: Apache-2.0
#include "run/execution_context.h"

namespace gantry {

ExecutionContext::ExecutionContext(const Program& program, const DeviceTable& devices,
                                   uint32_t threads)
    : resources_(program.outputs().size(), devices, threads),
      main_(program, resources_),
      captures_(resources_, program) {}

ExecutionContext::~ExecutionContext() { resources_.quiesce(); }

void ExecutionContext::drop_memory() {
  captures_.clear();
  main_.bind(nullptr);
  plan.reset();
  resources_.drop_memory();
}

}  // namespace gantry
