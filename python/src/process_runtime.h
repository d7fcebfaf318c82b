// SPDX-License-Identifier: Apache-2.0
// The runtime of the process, which sessions share unless their configuration needs a runtime of
// its own.
#pragma once

#include <gantry/runtime.h>

namespace gantry::python {

/// Created by the first call and never destroyed, since providers may still run threads at process
/// exit. Must be called without the GIL: a thread may wait here for another that creates it.
Runtime& runtime();

}  // namespace gantry::python
