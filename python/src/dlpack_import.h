// SPDX-License-Identifier: Apache-2.0
// Imports tensors of other libraries through DLPack, sharing their memory. All calls require the
// GIL.
#pragma once

#include <gantry/session.h>

#include <nanobind/nanobind.h>
#include <string>

namespace gantry::python {

/// A tensor over the memory of an object with __dlpack__, which the tensor keeps alive. The memory
/// is host memory, or with a session that of one of its devices; `session` may be null. The object
/// receives the device's stream, so that later work on the stream follows its own. Memory that is
/// misaligned, or strided in host memory, is copied. `subject` begins error messages. Throws
/// INVALID_ARGUMENT if the memory belongs to another device or is strided on a device, if ONNX
/// lacks the element type, or if the object refuses.
Tensor tensor_from_dlpack(nanobind::handle object, const std::string& subject,
                          const Session* session);

/// The same for memory to be written. Also throws INVALID_ARGUMENT if a copy would be needed or the
/// memory is read-only.
Tensor target_from_dlpack(nanobind::handle object, const std::string& subject,
                          const Session& session);

}  // namespace gantry::python
