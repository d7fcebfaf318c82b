// SPDX-License-Identifier: Apache-2.0
// Maps element types between DLPack and ONNX. Any thread.
#pragma once

#include <gantry/dtype.h>

#include <nanobind/ndarray.h>
#include <optional>

namespace gantry::python {

/// The ONNX type; kUndefined if there is none.
DType dtype_of(nanobind::dlpack::dtype type);

/// The DLPack type; std::nullopt if there is none, as for packed types.
std::optional<nanobind::dlpack::dtype> dlpack_dtype(DType dtype);

}  // namespace gantry::python
