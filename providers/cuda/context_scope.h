// SPDX-License-Identifier: Apache-2.0
// The context of a device as the calling thread's for the time of a block. A thread of the caller's
// may have another one, of a library of its own, which it has again behind the block.
#pragma once

#include <new>

#include "driver.h"

namespace gantry::cuda {

class Device;

class ContextScope {
 public:
  /// To be there before any function of the driver that works in a context. May be nested. Throws
  /// as Device::require.
  explicit ContextScope(const Device& device);
  /// The same for what cannot fail: destroying.
  ContextScope(const Device& device, std::nothrow_t) noexcept;
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  /// What the driver answered.
  [[nodiscard]] int result() const { return result_; }

 private:
  const Driver& driver_;
  ContextHandle before_ = nullptr;
  bool is_another_ = false;  // than before
  int result_;
};

}  // namespace gantry::cuda
