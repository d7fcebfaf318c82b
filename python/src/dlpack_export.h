// SPDX-License-Identifier: Apache-2.0
// Exports tensors to other libraries through DLPack, sharing their memory. All calls require the
// GIL.
#pragma once

#include <gantry/tensor.h>

#include <nanobind/nanobind.h>

namespace gantry::python {

/// Implements __dlpack__ of a tensor in device memory; returns a capsule. The arguments are those
/// of the array API standard, each may be None. Raises BufferError if the memory cannot be exported
/// with these arguments, ValueError if `stream` is not valid for the device.
nanobind::object dlpack_capsule(const Tensor& tensor, nanobind::handle stream,
                                nanobind::handle max_version, nanobind::handle dl_device,
                                nanobind::handle copy);

/// Implements __dlpack_device__. Raises BufferError if other libraries cannot use the memory.
DlpackDevice dlpack_device(const Tensor& tensor);

}  // namespace gantry::python
