// SPDX-License-Identifier: Apache-2.0
// Errors of gantry as statuses of ONNX Runtime's C API. Any thread.
#pragma once

#include <gantry/error.h>

#include <utility>

#include "objects/status.h"

namespace gantry::ort {

/// The error code that ONNX Runtime has for such an error.
ErrorCode error_code_of(Code code) noexcept;

/// Runs `function` and returns null, or a status if it throws.
template <class Function>
Status* guarded_call(Function&& function) noexcept {
  return guarded([&] {
    try {
      std::forward<Function>(function)();
    } catch (const Error& error) {
      throw ApiError(error_code_of(error.code()), error.message());
    }
  });
}

}  // namespace gantry::ort
