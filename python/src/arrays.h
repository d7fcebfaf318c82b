// SPDX-License-Identifier: Apache-2.0
// Converts between values and Python objects. Tensors are numpy arrays that share the tensor's
// memory if the encoding is the same; string tensors are arrays of str; sequences are lists,
// optionals None or their value, maps dicts. Tensors in device memory are gantry.Tensor. All calls
// require the GIL.
#pragma once

#include <gantry/session.h>

#include <nanobind/nanobind.h>
#include <string>

namespace gantry::python {

/// Converts `object` to a value for the input `expected` of a session. A contiguous, aligned array
/// is borrowed and kept alive by the value; other arrays are copied. A number or list becomes an
/// array of the expected type, unless that would change its kind (float to integer). Throws
/// INVALID_ARGUMENT if the object cannot be converted. The run checks shapes and element types of
/// arrays.
Value to_value(nanobind::handle object, const ValueInfo& expected, const Session& session);

/// The same for a tensor in host memory, without a session.
Tensor to_host_tensor(nanobind::handle object, const ValueInfo& expected);

/// A tensor over the memory of an array, or of an object with __dlpack__, for a session to write
/// to. `subject` begins error messages. Throws INVALID_ARGUMENT if the memory cannot be written in
/// place.
Tensor to_target(nanobind::handle object, const std::string& subject, const Session& session);

/// Converts a value; numpy arrays keep the memory of tensors alive.
nanobind::object to_python(const Value& value);

/// A numpy array of a tensor's elements. A tensor in device memory is copied; the GIL is released
/// meanwhile. Errors as Session::copy.
nanobind::object array_of(const Tensor& tensor);

}  // namespace gantry::python
