// SPDX-License-Identifier: Apache-2.0
#include "driver/context_scope.h"

namespace gantry::cuda {

// cuCtxPushCurrent would save a call, but it may return the failure of earlier work, and then it is
// unknown whether the context was pushed.
ContextScope::ContextScope(const DeviceContext& device, std::nothrow_t) noexcept
    : driver_(device.driver), result_(driver_.context_current(&before_)) {
  if (result_ == kSuccess && before_ == device.context()) return;
  is_another_ = result_ == kSuccess;
  result_ = driver_.context_set_current(device.context());
}

ContextScope::ContextScope(const DeviceContext& device) : ContextScope(device, std::nothrow) {
  device.require(result_, "entering it");
}

ContextScope::~ContextScope() {
  if (is_another_) driver_.context_set_current(before_);
}

}  // namespace gantry::cuda
