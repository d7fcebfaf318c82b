// SPDX-License-Identifier: Apache-2.0
// Maps element types between NumPy and gantry. Types that NumPy lacks (bfloat16, float8, 4 and 2
// bits) are those of the package ml_dtypes, which stores each element of a 4- or 2-bit type in a
// byte. All calls require the GIL.
#pragma once

#include <gantry/dtype.h>

#include <nanobind/nanobind.h>

namespace gantry::python {

/// The element type of a numpy.dtype; kUndefined if ONNX has none. dtypes of text and objects map
/// to strings.
DType dtype_of_numpy(nanobind::handle numpy_dtype);

/// The numpy.dtype of an element type. Throws UNAVAILABLE if it belongs to ml_dtypes, which is not
/// installed.
nanobind::object numpy_dtype_of(DType dtype);

/// The element type of an argument: a numpy.dtype, anything that NumPy converts to one, or gantry's
/// name ("bfloat16"). Throws INVALID_ARGUMENT if ONNX has no such type.
DType given_dtype(nanobind::handle dtype);

}  // namespace gantry::python
