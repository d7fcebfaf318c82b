// SPDX-License-Identifier: Apache-2.0
#include "json_text.h"

#include <gantry/error.h>

#include <nanobind/stl/string.h>

namespace gantry::python {
namespace {

namespace nb = nanobind;

constexpr int kMostDepth = 32;  // deeper nesting is left to json; it may be cyclic

/// Appends common values to a string; each function returns false for others.
class Writer {
 public:
  std::string text;

  bool write(nb::handle value, int depth) {
    PyObject* object = value.ptr();
    if (object == Py_None) return write("null");
    if (PyBool_Check(object)) return write(object == Py_True ? "true" : "false");
    if (PyLong_CheckExact(object) || PyFloat_CheckExact(object)) return write_number(value);
    if (PyUnicode_CheckExact(object)) return write_string(value);
    if (depth == kMostDepth) return false;
    if (PyDict_CheckExact(object)) return write_dict(value, depth + 1);
    if (PyList_CheckExact(object)) return write_list(value, depth + 1);
    return false;
  }

 private:
  bool write(const char* word) {
    text += word;
    return true;
  }

  // As repr() writes numbers, which is not JSON for infinities and NaN.
  bool write_number(nb::handle value) {
    const auto shown = nb::cast<std::string>(nb::repr(value));
    text += shown;
    return shown.find_first_of("in") == std::string::npos;
  }

  bool write_string(nb::handle value) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (!bytes) {  // an unpaired surrogate
      PyErr_Clear();
      return false;
    }
    text += '"';
    for (Py_ssize_t i = 0; i < size; ++i) {
      const char byte = bytes[i];
      if (static_cast<unsigned char>(byte) < ' ') return false;
      if (byte == '"' || byte == '\\') text += '\\';
      text += byte;
    }
    text += '"';
    return true;
  }

  bool write_dict(nb::handle value, int depth) {
    text += '{';
    bool is_first = true;
    for (const auto& [key, member] : nb::borrow<nb::dict>(value)) {
      if (!is_first) text += ", ";
      is_first = false;
      if (!PyUnicode_CheckExact(key.ptr()) || !write_string(key)) return false;
      text += ": ";
      if (!write(member, depth)) return false;
    }
    return write("}");
  }

  bool write_list(nb::handle value, int depth) {
    text += '[';
    bool is_first = true;
    for (const nb::handle element : nb::borrow<nb::list>(value)) {
      if (!is_first) text += ", ";
      is_first = false;
      if (!write(element, depth)) return false;
    }
    return write("]");
  }
};

}  // namespace

std::string json_text(nb::handle config) {
  Writer writer;
  if (writer.write(config, 0)) return std::move(writer.text);
  try {
    return nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(config));
  } catch (nb::python_error& error) {
    throw Error(Code::kInvalidArgument, "config: it cannot be written as JSON: " +
                                            nb::cast<std::string>(nb::str(error.value())));
  }
}

}  // namespace gantry::python
