// SPDX-License-Identifier: Apache-2.0
// Tensors over memory of ONNX Runtime's programs. Any thread.
#pragma once

#include <gantry/tensor.h>

#include <memory>
#include <vector>

namespace gantry::ort {

/// A dense tensor over `data`, or a copy if that is not aligned as gantry needs. `owner` keeps the
/// memory alive; without an owner the caller does. Requires an element type other than strings.
Tensor borrow_or_copy(DType dtype, std::vector<int64_t> shape, void* data,
                      std::shared_ptr<const void> owner = nullptr);

}  // namespace gantry::ort
