// SPDX-License-Identifier: Apache-2.0
// Errors as ONNX Runtime's C API has them: functions return null for success, or a status that the
// caller releases. Any thread.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

namespace gantry::ort {

/// OrtErrorCode; the numbers are the API's.
enum class ErrorCode : int {
  kOk = 0,
  kFail = 1,
  kInvalidArgument = 2,
  kNoSuchFile = 3,
  kRuntimeException = 6,
  kNotImplemented = 9,
  kInvalidGraph = 10,
  kEpFail = 11,
};

/// OrtStatus.
struct Status {
  ErrorCode code = ErrorCode::kFail;
  std::string message;
};

/// Thrown by functions of the API below the function that returns a status.
class ApiError : public std::exception {
 public:
  ApiError(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorCode code_;
  std::string message_;
};

/// A new status; one that says that there was no memory if there is none, which is never freed.
Status* make_status(ErrorCode code, const char* message) noexcept;
void release_status(Status* status) noexcept;
/// Throws ApiError if there is a status, which is released.
void expect_success(Status* status);

/// Runs `function` and returns null, or a status if it throws.
template <class Function>
Status* guarded(Function&& function) noexcept {
  try {
    std::forward<Function>(function)();
    return nullptr;
  } catch (const ApiError& error) {
    return make_status(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return make_status(ErrorCode::kRuntimeException, "there is no memory");
  } catch (const std::exception& error) {
    return make_status(ErrorCode::kFail, error.what());
  } catch (...) {
    return make_status(ErrorCode::kFail, "something was thrown that is no std::exception");
  }
}

}  // namespace gantry::ort
