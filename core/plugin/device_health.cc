// SPDX-License-Identifier: Apache-2.0
#include "plugin/device_health.h"

namespace gantry {

std::atomic<bool> DeviceHealth::is_any_blocked{false};

std::string DeviceHealth::reason() const {
  const MutexLock lock(mutex_);
  return reason_;
}

void DeviceHealth::block(State state, const std::string& reason) {
  const MutexLock lock(mutex_);
  if (!is_good()) return;
  reason_ = reason;
  state_.store(state, std::memory_order_release);
  is_any_blocked = true;
}

}  // namespace gantry
