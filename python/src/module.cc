// SPDX-License-Identifier: Apache-2.0
// The module gantry._core: the public C++ API as Python's users type it (docs/python.md).
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "errors.h"

namespace gantry::python {

namespace nb = nanobind;

std::string repr(nb::handle object, const std::vector<const char*>& attributes) {
  std::string text = class_name(object) + "(";
  for (const char* name : attributes) {
    if (name != attributes.front()) text += ", ";
    text += std::string(name) + "=" + nb::cast<std::string>(nb::repr(object.attr(name)));
  }
  return text + ")";
}

NB_MODULE(_core, module) {
  module.doc() = "The C++ part of gantry; import gantry instead.";
  module.attr("version") = GANTRY_VERSION;
  register_errors();
  bind_runtime(module);
  bind_inspection(module);
  bind_placement(module);
  bind_tensor(module);
  bind_session(module);
  bind_binding(module);
}

}  // namespace gantry::python
