// SPDX-License-Identifier: Apache-2.0
#include "objects/status.h"

#include <memory>

namespace gantry::ort {
namespace {

// What is returned where a status cannot be made.
Status& without_memory() {
  static Status status{ErrorCode::kRuntimeException, "no memory"};  // short: held in the object
  return status;
}

}  // namespace

Status* make_status(ErrorCode code, const char* message) noexcept {
  try {
    return new Status{code, message};
  } catch (const std::bad_alloc&) {
    return &without_memory();
  }
}

void release_status(Status* status) noexcept {
  if (status != &without_memory()) delete status;
}

void expect_success(Status* status) {
  if (!status) return;
  const std::unique_ptr<Status, void (*)(Status*)> owned(status, release_status);
  throw ApiError(owned->code, owned->message);
}

}  // namespace gantry::ort
