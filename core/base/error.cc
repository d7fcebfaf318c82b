// SPDX-License-Identifier: Apache-2.0
#include <gantry/error.h>

#include <utility>

namespace gantry {

const char* to_string(Code code) noexcept {
  switch (code) {
    case Code::kOk:
      return "OK";
    case Code::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case Code::kInvalidModel:
      return "INVALID_MODEL";
    case Code::kUnsupported:
      return "UNSUPPORTED";
    case Code::kNotFound:
      return "NOT_FOUND";
    case Code::kUnavailable:
      return "UNAVAILABLE";
    case Code::kOutOfMemory:
      return "OUT_OF_MEMORY";
    case Code::kAbiMismatch:
      return "ABI_MISMATCH";
    case Code::kDeviceError:
      return "DEVICE_ERROR";
    case Code::kDeviceLost:
      return "DEVICE_LOST";
    case Code::kProviderCrashed:
      return "PROVIDER_CRASHED";
    case Code::kCancelled:
      return "CANCELLED";
    case Code::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case Code::kInternal:
      return "INTERNAL";
  }
  return "UNKNOWN_CODE";
}

Error::Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

Error Error::in(const std::string& context) const { return {code_, context + ": " + message_}; }

}  // namespace gantry
