// SPDX-License-Identifier: Apache-2.0
#include "plugin_ep/host_api.h"

#include <gantry/error.h>

#include <new>

#include "c_api/guard.h"

namespace gantry::ort {
namespace {

/// OrtApiBase.
struct ApiBase {
  void* const* (*get_api)(uint32_t version);
  const char* (*get_version)();
};

/// Since this version a scalar and a tensor of unknown rank can be told apart.
constexpr uint32_t kLeastVersion = 24;

}  // namespace

HostApi::HostApi(const void* base) {
  const auto* found = static_cast<const ApiBase*>(base);
  version_ = found->get_version();
  table_ = found->get_api(kLeastVersion);
  is_new_enough_ = table_ != nullptr;
  if (!is_new_enough_) table_ = found->get_api(1);
  if (is_new_enough_) providers_ = get<const EpApi*>(Slot::kGetEpApi);
}

host::Status* HostApi::fail(ErrorCode code, const char* message) const noexcept {
  return get<host::Status*>(Slot::kCreateStatus, static_cast<int>(code), message);
}

void HostApi::expect_success(host::Status* status) const {
  if (!status) return;
  const Owned<host::Status> owned(*this, Slot::kReleaseStatus, status);
  const auto code = static_cast<ErrorCode>(get<int>(Slot::kGetErrorCode, status));
  throw ApiError(code, get<const char*>(Slot::kGetErrorMessage, status));
}

host::Status* status_of_exception(const HostApi& api) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return api.fail(error_code_of(error.code()), error.what());
  } catch (const ApiError& error) {
    return api.fail(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return api.fail(ErrorCode::kRuntimeException, "there is no memory");
  } catch (const std::exception& error) {
    return api.fail(ErrorCode::kFail, error.what());
  } catch (...) {
    return api.fail(ErrorCode::kFail, "something was thrown that is no std::exception");
  }
}

}  // namespace gantry::ort
