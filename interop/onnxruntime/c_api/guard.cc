// SPDX-License-Identifier: Apache-2.0
#include "c_api/guard.h"

namespace gantry::ort {

ErrorCode error_code_of(Code code) noexcept {
  switch (code) {
    case Code::kInvalidArgument:
      return ErrorCode::kInvalidArgument;
    case Code::kInvalidModel:
      return ErrorCode::kInvalidGraph;
    case Code::kUnsupported:
      return ErrorCode::kNotImplemented;
    case Code::kNotFound:
      return ErrorCode::kNoSuchFile;
    case Code::kDeviceError:
    case Code::kDeviceLost:
    case Code::kProviderCrashed:
      return ErrorCode::kEpFail;
    case Code::kOutOfMemory:
      return ErrorCode::kRuntimeException;
    default:
      return ErrorCode::kFail;
  }
}

}  // namespace gantry::ort
