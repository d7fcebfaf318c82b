// SPDX-License-Identifier: Apache-2.0
// Values as Python has them: tensors are numpy arrays that share the tensor's memory where the
// encoding is the same, string tensors arrays of str; sequences are lists, optionals None or their
// value, maps dicts. What is in the memory of a device is a gantry.Tensor. All calls need the
// interpreter's lock.
#pragma once

#include <gantry/session.h>

#include <nanobind/nanobind.h>
#include <string>

namespace gantry::python {

/// The value to feed to `expected` of a session. An array that is contiguous and aligned is
/// borrowed and kept alive by the value; others are copied. What is no array (a number, a list)
/// becomes one of the expected type, if no kind of number is lost by it. INVALID_ARGUMENT: the
/// object cannot be such a value. Shapes and element types of arrays are left to the run to check.
Value to_value(nanobind::handle object, const ValueInfo& expected, const Session& session);

/// The same for a tensor of host memory that no session takes.
Tensor to_host_tensor(nanobind::handle object, const ValueInfo& expected);

/// A tensor over an array, or what has __dlpack__, that a session is to write to. `subject` opens
/// the messages. INVALID_ARGUMENT: it cannot be written to in place.
Tensor to_target(nanobind::handle object, const std::string& subject, const Session& session);

nanobind::object to_python(const Value& value);

/// A numpy array of a tensor's elements: of one in the memory of a device a copy, which is waited
/// for without the interpreter's lock. Errors as Session::copy.
nanobind::object array_of(const Tensor& tensor);

}  // namespace gantry::python
