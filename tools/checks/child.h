// SPDX-License-Identifier: Apache-2.0
// The process in which the checks run. It writes a line of JSON before and after each check, so
// that its parent knows which check was running when it died.
#pragma once

#include "check.h"

namespace gantry::checks {

/// Runs the checks from index `first` on and writes their results to `descriptor`. Stops after a
/// check that loses the device. Returns the exit status of the process, which a provider may end
/// earlier.
int run_child(const Subject& subject, size_t first, int descriptor);

}  // namespace gantry::checks
