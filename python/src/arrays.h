// SPDX-License-Identifier: Apache-2.0
// Values as Python has them: tensors are numpy arrays that share the tensor's memory where the
// encoding is the same, string tensors arrays of str; sequences are lists, optionals None or their
// value, maps dicts. All calls need the interpreter's lock.
#pragma once

#include <gantry/session.h>

#include <nanobind/nanobind.h>

namespace gantry::python {

/// The value to feed to `expected`. An array that is contiguous and aligned is borrowed and kept
/// alive by the value; others are copied. What is no array (a number, a list) becomes one of the
/// expected type, if no kind of number is lost by it. INVALID_ARGUMENT: the object cannot be such a
/// value. Shapes and element types of arrays are left to the run to check.
Value to_value(nanobind::handle object, const ValueInfo& expected);

nanobind::object to_python(const Value& value);

}  // namespace gantry::python
