// SPDX-License-Identifier: Apache-2.0
// Converts a configuration dict to JSON text.
#pragma once

#include <nanobind/nanobind.h>
#include <string>

namespace gantry::python {

/// Common types are written here, since importing Python's module json takes a tenth of the time of
/// loading a small model. Other values are written by that module. Throws INVALID_ARGUMENT if it
/// cannot write them either. Requires the GIL.
std::string json_text(nanobind::handle config);

}  // namespace gantry::python
