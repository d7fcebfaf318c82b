// SPDX-License-Identifier: Apache-2.0
// The process in which the checks run. It writes a line of JSON before and after each check, so
// that its parent knows which check was running when it died.
#pragma once

#include "check.h"

namespace gantry::checks {

/// Runs the checks from number `first` on, up to the last or the one that loses the device, and
/// writes to `descriptor`. The exit status of the process; a provider may end it before.
int run_child(const Subject& subject, size_t first, int descriptor);

}  // namespace gantry::checks
