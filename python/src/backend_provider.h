// SPDX-License-Identifier: Apache-2.0
// Classes written in Python, with ONNX's Backend interface, as devices: each is a provider given in
// code, whose questions go to an object of gantry.backend_devices.
#pragma once

#include <gantry/runtime.h>

#include <nanobind/nanobind.h>

namespace gantry::python {

/// Gives a runtime every backend that is registered; those registered later reach the process's
/// runtime alone. Called without the interpreter's lock.
void add_backend_providers(Runtime& runtime);

void bind_backend_provider(nanobind::module_& module);

}  // namespace gantry::python
