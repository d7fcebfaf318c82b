// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <gantry/error.h>

#include <exception>
#include <nanobind/stl/string.h>
#include <string>

namespace gantry::python {
namespace {

namespace nb = nanobind;

struct ErrorClass {
  Code code;
  const char* name;
};

constexpr ErrorClass kClasses[] = {
    {Code::kInvalidArgument, "InvalidArgumentError"},
    {Code::kInvalidModel, "InvalidModelError"},
    {Code::kUnsupported, "UnsupportedError"},
    {Code::kNotFound, "NotFoundError"},
    {Code::kUnavailable, "UnavailableError"},
    {Code::kOutOfMemory, "OutOfMemoryError"},
    {Code::kAbiMismatch, "AbiMismatchError"},
    {Code::kDeviceError, "DeviceError"},
    {Code::kDeviceLost, "DeviceLostError"},
    {Code::kProviderCrashed, "ProviderCrashedError"},
    {Code::kCancelled, "CancelledError"},
    {Code::kDeadlineExceeded, "DeadlineExceededError"},
    {Code::kInternal, "InternalError"},
};

const char* class_of(Code code) {
  for (const ErrorClass& row : kClasses) {
    if (row.code == code) return row.name;
  }
  return "Error";
}

void translate(const std::exception_ptr& exception, void* /*payload*/) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    const nb::object type = nb::module_::import_("gantry.errors").attr(class_of(error.code()));
    // Messages quote the contents of files, which may be invalid UTF-8.
    const nb::object text = nb::steal(PyUnicode_DecodeUTF8(
        error.what(), static_cast<Py_ssize_t>(error.message().size()), "backslashreplace"));
    PyErr_SetObject(type.ptr(), text.ptr());
  }
}

}  // namespace

std::string class_name(nb::handle object) {
  return nb::cast<std::string>(object.type().attr("__name__"));
}

std::string described(nb::handle object) {
  if (object.is_none()) return "None";
  const std::string name = class_name(object);
  const bool is_vowel = std::string("aeiouAEIOU").find(name[0]) != std::string::npos;
  return (is_vowel ? "an " : "a ") + name;
}

void register_errors() { nb::register_exception_translator(translate); }

}  // namespace gantry::python
