// SPDX-License-Identifier: Apache-2.0
// The host table (gantry_host) of the process. Declared here, where providers are opened; defined
// in run/host_table.cc and run/run_services.cc, since this folder may not include run/. Any thread.
#pragma once

#include <gantry/provider.h>

#include <cstdint>

namespace gantry {

/// The table that every provider receives: a constant with a function in every slot.
const gantry_host& host_table() noexcept;

/// The tensor that the caller of a run has bound to an output of a step; null: none. For kernels of
/// the core that may fill it before the shape of the result is known (isolated_kernel.cc).
const gantry_tensor* bound_output(gantry_run* run, uint32_t index);

}  // namespace gantry
