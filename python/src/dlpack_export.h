// SPDX-License-Identifier: Apache-2.0
// Tensors of ours for other libraries, through DLPack: the memory is shared, whatever its element
// type. All calls need the interpreter's lock.
#pragma once

#include <gantry/tensor.h>

#include <nanobind/nanobind.h>

namespace gantry::python {

/// What __dlpack__ of a tensor in the memory of a device answers: a capsule. `stream`, `copy`:
/// None or as the array API standard has them; `max_version`, `dl_device`: None or pairs.
/// BufferError (of Python): the memory cannot be handed out, or not so; ValueError: no such stream.
nanobind::object dlpack_capsule(const Tensor& tensor, nanobind::handle stream,
                                nanobind::handle max_version, nanobind::handle dl_device,
                                nanobind::handle copy);

/// What __dlpack_device__ answers. BufferError: other libraries cannot use the memory.
DlpackDevice dlpack_device(const Tensor& tensor);

}  // namespace gantry::python
