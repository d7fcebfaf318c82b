// SPDX-License-Identifier: Apache-2.0
// NumPy's dtypes and gantry's element types. Types that NumPy lacks (bfloat16, float8, 4 and 2
// bits) are those of the package ml_dtypes, which keeps each element of a 4- or 2-bit type in a
// byte. All calls need the interpreter's lock.
#pragma once

#include <gantry/dtype.h>

#include <nanobind/nanobind.h>

namespace gantry::python {

/// The element type of arrays of that numpy.dtype; kUndefined if ONNX has none. Text and objects
/// are strings.
DType dtype_of_numpy(nanobind::handle numpy_dtype);

/// The numpy.dtype of an element type. UNAVAILABLE: it is one of ml_dtypes', which is not
/// installed.
nanobind::object numpy_dtype_of(DType dtype);

/// The element type that a caller names: a numpy.dtype, what NumPy makes one of, or the name that
/// gantry gives it ("bfloat16"). INVALID_ARGUMENT: ONNX has none such.
DType given_dtype(nanobind::handle dtype);

}  // namespace gantry::python
