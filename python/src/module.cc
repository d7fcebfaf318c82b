// SPDX-License-Identifier: Apache-2.0
// The module gantry._core: binds the public C++ API (docs/python.md).
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "backend_provider.h"
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

namespace {

// Daemon threads that are left at exit keep their objects; nanobind would report leaks.
void expect_threads_left_behind() {
  const nb::object threading = nb::module_::import_("sys").attr("modules").attr("get")("threading");
  if (threading.is_none()) return;
  for (const nb::handle thread : threading.attr("enumerate")()) {
    if (nb::cast<bool>(thread.attr("daemon"))) nb::set_leak_warnings(false);
  }
}

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "The C++ part of gantry; import gantry instead.";
  module.attr("version") = GANTRY_VERSION;
  register_errors();
  bind_runtime(module);
  bind_inspection(module);
  bind_backend_provider(module);
  bind_placement(module);
  bind_tensor(module);
  bind_session(module);
  bind_binding(module);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(expect_threads_left_behind));
}

}  // namespace gantry::python
