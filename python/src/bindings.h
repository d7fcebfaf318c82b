// SPDX-License-Identifier: Apache-2.0
// Functions that bind the parts of the module gantry._core, each in its own file. Called once, when
// the module is imported.
#pragma once

#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace gantry::python {

/// Devices, provider reports, device strings.
void bind_runtime(nanobind::module_& module);
/// Conversions between element types and numpy.dtypes, and inspect(), for gantry.onnxruntime.
void bind_inspection(nanobind::module_& module);
/// Placement, and check(), which computes a placement without a session.
void bind_placement(nanobind::module_& module);
/// Tensors in the memory of devices.
void bind_tensor(nanobind::module_& module);
/// Binding: inputs and outputs of many runs.
void bind_binding(nanobind::module_& module);
/// Session, and the records that its methods return.
void bind_session(nanobind::module_& module);

/// "Name(a='x', b=1)" of the named attributes, as dataclasses print themselves.
std::string repr(nanobind::handle object, const std::vector<const char*>& attributes);

}  // namespace gantry::python
