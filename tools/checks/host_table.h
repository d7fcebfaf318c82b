// SPDX-License-Identifier: Apache-2.0
// The host that drives a provider in the checks: a gantry_host of its own beside gantry's. Any
// thread.
#pragma once

#include <gantry/provider.h>

namespace gantry::checks {

/// The table. The same pointer always.
const gantry_host* host_table();

}  // namespace gantry::checks
