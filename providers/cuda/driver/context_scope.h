// SPDX-License-Identifier: Apache-2.0
// Makes a device's context current on the calling thread for a scope, and restores the previous
// one, which may belong to another library.
#pragma once

#include <new>

#include "driver/device_context.h"

namespace gantry::cuda {

class ContextScope {
 public:
  /// Required around every driver call that works in a context. Scopes may nest. Throws as
  /// DeviceContext::require.
  explicit ContextScope(const DeviceContext& device);
  /// Does not throw, for destructors.
  ContextScope(const DeviceContext& device, std::nothrow_t) noexcept;
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  /// The driver's result of making the context current.
  [[nodiscard]] int result() const { return result_; }

 private:
  const Driver& driver_;
  ContextHandle before_ = nullptr;
  bool is_another_ = false;  // the context was changed
  int result_;
};

}  // namespace gantry::cuda
