// SPDX-License-Identifier: Apache-2.0
// Devices implemented by Python classes with ONNX's Backend interface. Each is an in-process
// provider that calls an object of gantry.backend_devices.
#pragma once

#include <gantry/runtime.h>

#include <nanobind/nanobind.h>

namespace gantry::python {

/// Adds every registered backend to a runtime. Backends registered later are added to the process's
/// runtime only. Must be called without the GIL.
void add_backend_providers(Runtime& runtime);

/// Binds the function behind gantry.register_backend.
void bind_backend_provider(nanobind::module_& module);

}  // namespace gantry::python
