// SPDX-License-Identifier: Apache-2.0
// The runtime of Python's process, which sessions share unless their configuration asks for one of
// its own.
#pragma once

#include <gantry/runtime.h>

namespace gantry::python {

/// One for the process, made when first needed and never destroyed: providers may still run threads
/// when the process ends. Called without the interpreter's lock, which a thread that waits for
/// another to make it must not hold.
Runtime& runtime();

}  // namespace gantry::python
