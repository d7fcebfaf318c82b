// SPDX-License-Identifier: Apache-2.0
// The host table: what gantry offers to every provider of the process. Declared here, where
// providers are opened; defined in run/host_table.cc and run/run_services.cc, since half of it is
// about runs, which this folder does not see. Any thread.
#pragma once

#include <gantry/provider.h>

#include <cstdint>

namespace gantry {

/// The table handed to providers: a constant with a function in every slot.
const gantry_host& host_table() noexcept;

/// The tensor that the caller of a run has given for an output of a step; null: none. For kernels
/// of the core, which may want to fill it before the shape of the result is known.
const gantry_tensor* bound_output(gantry_run* run, uint32_t index);

}  // namespace gantry
