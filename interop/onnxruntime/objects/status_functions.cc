// SPDX-License-Identifier: Apache-2.0
#include "objects/api_table.h"
#include "objects/status.h"

namespace gantry::ort {
namespace {

Status* create_status(ErrorCode code, const char* message) {
  return make_status(code, message ? message : "");
}
ErrorCode get_error_code(const Status* status) { return status->code; }
const char* get_error_message(const Status* status) { return status->message.c_str(); }

}  // namespace

void add_status_functions(ApiTable& table) {
  table.set(Slot::kCreateStatus, create_status);
  table.set(Slot::kGetErrorCode, get_error_code);
  table.set(Slot::kGetErrorMessage, get_error_message);
  table.set(Slot::kReleaseStatus, release_status);
}

}  // namespace gantry::ort
