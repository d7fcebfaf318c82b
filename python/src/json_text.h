// SPDX-License-Identifier: Apache-2.0
// A configuration that is given as a dict, as JSON text.
#pragma once

#include <nanobind/nanobind.h>
#include <string>

namespace gantry::python {

/// Ordinary values are written here, since the first import of Python's module json takes as long
/// as a tenth of a small model's loading; all others by that module. INVALID_ARGUMENT: it cannot
/// write them either. Requires the GIL.
std::string json_text(nanobind::handle config);

}  // namespace gantry::python
