// SPDX-License-Identifier: Apache-2.0
#include "model_source.h"

#include <nanobind/stl/string.h>
#include <span>
#include <utility>

#include "errors.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

GivenModel bytes_model(nb::object bytes) {
  const std::span<const char> span(PyBytes_AS_STRING(bytes.ptr()),
                                   static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
  ModelSource source(std::as_bytes(span), {});
  return {std::move(bytes), std::move(source)};
}

GivenModel path_model(nb::handle path) {
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &encoded) == 0) throw nb::python_error();
  const nb::object bytes = nb::steal(encoded);
  return {{},
          ModelSource(std::string(PyBytes_AS_STRING(encoded),
                                  static_cast<size_t>(PyBytes_GET_SIZE(encoded))))};
}

}  // namespace

Runtime& runtime() {
  static Runtime* shared = new Runtime;
  return *shared;
}

GivenModel given_model(nb::handle model) {
  if (PyBytes_Check(model.ptr())) return bytes_model(nb::borrow(model));
  if (PyUnicode_Check(model.ptr()) || nb::hasattr(model, "__fspath__")) return path_model(model);
  if (nb::hasattr(model, "SerializeToString"))
    return bytes_model(model.attr("SerializeToString")());
  if (PyObject_CheckBuffer(model.ptr()) != 0) {
    nb::object bytes = nb::steal(PyBytes_FromObject(model.ptr()));
    if (!bytes.is_valid()) throw nb::python_error();
    return bytes_model(std::move(bytes));
  }
  throw Error(Code::kInvalidArgument,
              "model: expected a path, bytes or an onnx.ModelProto, found " + described(model));
}

SessionOptions session_options(const std::optional<std::string>& device, nb::handle config) {
  SessionOptions options;
  if (device) {
    // An empty text means "not given" to the core, and is a mistake here.
    if (device->empty()) Device::parse(*device);
    options.device = *device;
  }
  if (config.is_none()) return options;
  if (!PyDict_Check(config.ptr()))
    throw Error(Code::kInvalidArgument, "config: expected a dict, found " + described(config));
  try {
    options.config_json = nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(config));
  } catch (nb::python_error& error) {
    throw Error(Code::kInvalidArgument, "config: it cannot be written as JSON: " +
                                            nb::cast<std::string>(nb::str(error.value())));
  }
  return options;
}

}  // namespace gantry::python
