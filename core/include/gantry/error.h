// SPDX-License-Identifier: Apache-2.0
// The one exception type of gantry and its codes.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace gantry {

/// What went wrong, coarsely; the numbers are those of gantry_code in provider.h.
enum class Code : uint32_t {
  kOk = 0,
  /// the caller passed something wrong: an input's name, type or shape, a device string
  kInvalidArgument = 1,
  kInvalidModel = 2,  ///< the model breaks a rule of ONNX
  kUnsupported = 3,   ///< valid, but nothing here runs it
  kNotFound = 4,      ///< a file, provider, device or name does not exist
  kUnavailable = 5,   ///< exists, but cannot be used now
  kOutOfMemory = 6,
  kAbiMismatch = 7,  ///< host and provider do not fit together
  kDeviceError = 8,
  kDeviceLost = 9,
  kProviderCrashed = 10,
  kCancelled = 11,
  kDeadlineExceeded = 12,
  kInternal = 13,
};

/// Name of a code as users read it: "INVALID_ARGUMENT".
const char* to_string(Code code) noexcept;

/// A failure: code and message. The message is made of sentences that name the subject, what was
/// expected, what was found and what to do.
class Error : public std::exception {
 public:
  Error(Code code, std::string message);
  [[nodiscard]] Code code() const noexcept { return code_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
  /// The same error with a context in front of the message: "model.onnx: <message>".
  [[nodiscard]] Error in(const std::string& context) const;

 private:
  Code code_;
  std::string message_;
};

}  // namespace gantry
