// SPDX-License-Identifier: Apache-2.0
// A device's primary context, in which the driver works on it and which other libraries of the
// process share; and what the driver's results mean for the device. Any thread.
#pragma once

#include <atomic>
#include <string>

#include "driver/device_info.h"
#include "driver/driver.h"

namespace gantry::cuda {

/// Retains the context as long as it lives.
class DeviceContext {
 public:
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  [[nodiscard]] std::string name() const { return "CUDA:" + std::to_string(info.id); }

  /// Throws if `result` is a failure: OUT_OF_MEMORY, DEVICE_LOST (a sticky error: the device cannot
  /// be used any more and every later call fails) or DEVICE_ERROR. `what`: the operation, for the
  /// message.
  void require(int result, const char* what) const;
  void require_alive() const;

  /// The driver's handle; see ContextScope.
  [[nodiscard]] ContextHandle context() const { return context_; }

  const Driver& driver;
  const DeviceInfo info;

 protected:
  /// OUT_OF_MEMORY, DEVICE_ERROR.
  DeviceContext(const Driver& its_driver, const DeviceInfo& known);
  ~DeviceContext();
  /// Whether the driver returns nothing but errors in this process after that result (a sticky
  /// error).
  static bool is_fatal(int result);

 private:
  ContextHandle context_ = nullptr;
  mutable std::atomic<bool> is_lost_{false};
};

}  // namespace gantry::cuda
