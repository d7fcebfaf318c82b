// SPDX-License-Identifier: Apache-2.0
// Tensors of other libraries, through DLPack: the memory is shared, whatever its element type. All
// calls need the interpreter's lock.
#pragma once

#include <gantry/session.h>

#include <nanobind/nanobind.h>
#include <string>

namespace gantry::python {

/// A tensor over the memory of an object that has __dlpack__, which the tensor keeps alive: host
/// memory, or that of a device of the session's, whose stream is handed to the object to wait for
/// its work; a copy if it is misaligned, or in host memory and strided. `subject` opens the
/// messages. INVALID_ARGUMENT: the memory is another device's, or strided on a device, ONNX has no
/// such element type, or the object hands nothing out.
/// `session`: null takes host memory only.
Tensor tensor_from_dlpack(nanobind::handle object, const std::string& subject,
                          const Session* session);

/// Likewise, to be written to: INVALID_ARGUMENT too where that needs a copy, or it is read-only.
Tensor target_from_dlpack(nanobind::handle object, const std::string& subject,
                          const Session& session);

}  // namespace gantry::python
