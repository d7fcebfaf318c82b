// SPDX-License-Identifier: Apache-2.0
// Tensors of other libraries, through DLPack: the memory is shared, whatever its element type.
#pragma once

#include <gantry/tensor.h>

#include <nanobind/nanobind.h>
#include <string>

namespace gantry::python {

/// A tensor over the memory of an object that has __dlpack__, which the tensor keeps alive; a copy
/// if that is strided or misaligned. `subject` opens the messages. INVALID_ARGUMENT: the memory is
/// not the host's, ONNX has no such element type, or the object hands nothing out. Needs the
/// interpreter's lock.
Tensor tensor_from_dlpack(nanobind::handle object, const std::string& subject);

}  // namespace gantry::python
