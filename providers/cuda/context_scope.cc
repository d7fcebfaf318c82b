// SPDX-License-Identifier: Apache-2.0
#include "context_scope.h"

#include "device.h"

namespace gantry::cuda {

// The driver's stack of contexts would do it in one call less, but a push may answer the failure of
// earlier work, and then nobody knows whether there is something to pop.
ContextScope::ContextScope(const Device& device, std::nothrow_t) noexcept
    : driver_(device.driver), result_(driver_.context_current(&before_)) {
  if (result_ == kSuccess && before_ == device.context()) return;
  is_another_ = result_ == kSuccess;
  result_ = driver_.context_set_current(device.context());
}

ContextScope::ContextScope(const Device& device) : ContextScope(device, std::nothrow) {
  device.require(result_, "entering it");
}

ContextScope::~ContextScope() {
  if (is_another_) driver_.context_set_current(before_);
}

}  // namespace gantry::cuda
