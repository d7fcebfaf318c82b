// SPDX-License-Identifier: Apache-2.0
// The process in which the checks run: it tells of each check before and after it, a line of JSON
// each, so that whoever started it knows where it was when it died.
#pragma once

#include "check.h"

namespace gantry::checks {

/// Runs the checks from number `first` on and writes to `descriptor`. The exit status of the
/// process; a provider may end it before.
int run_child(const Subject& subject, size_t first, int descriptor);

}  // namespace gantry::checks
