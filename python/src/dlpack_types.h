// SPDX-License-Identifier: Apache-2.0
// Element types as DLPack and ONNX name them. Any thread.
#pragma once

#include <gantry/dtype.h>

#include <nanobind/ndarray.h>
#include <optional>

namespace gantry::python {

/// kUndefined: ONNX has no such type.
DType dtype_of(nanobind::dlpack::dtype type);

/// Nothing: DLPack has no such type, as for packed elements.
std::optional<nanobind::dlpack::dtype> dlpack_dtype(DType dtype);

}  // namespace gantry::python
