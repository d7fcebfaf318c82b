// SPDX-License-Identifier: Apache-2.0
// The run services of the checks' host: the slots that a kernel may call while it runs.
#pragma once

#include "host.h"

namespace gantry::checks {

/// Fills the slots of `table` from `output` to `trace_end`; each works on a HostRun.
void add_run_services(gantry_host& table);

}  // namespace gantry::checks
