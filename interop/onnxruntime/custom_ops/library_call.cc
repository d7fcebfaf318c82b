// SPDX-License-Identifier: Apache-2.0
#include "custom_ops/library_call.h"

namespace gantry::ort {

gantry_code host_code(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return GANTRY_INVALID_ARGUMENT;
    case ErrorCode::kNoSuchFile:
      return GANTRY_NOT_FOUND;
    case ErrorCode::kNotImplemented:
      return GANTRY_UNSUPPORTED;
    default:
      return GANTRY_INTERNAL;
  }
}

}  // namespace gantry::ort
