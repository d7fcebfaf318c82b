// SPDX-License-Identifier: Apache-2.0
// Whether an opened device can still be trusted. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/mutex.h"

namespace gantry {

/// Good until something says otherwise, then never again while its provider is
/// open.
class DeviceHealth {
 public:
  enum class State : uint32_t {
    kGood,
    kLost,  ///< the provider said so: only destroy, free and close functions are
            ///< called for it
    kHung,  ///< it did not come to rest: nothing is called for it, and what it
            ///< may use is kept
  };

  [[nodiscard]] State state() const noexcept { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_good() const noexcept { return state() == State::kGood; }
  [[nodiscard]] bool is_hung() const noexcept { return state() == State::kHung; }
  /// One sentence without a final stop; empty while it is good.
  [[nodiscard]] std::string reason() const;
  /// The first call counts.
  void block(State state, const std::string& reason);

  /// True once any device of the process is not good: the one thing that a run
  /// looks at.
  static bool any_blocked() noexcept { return is_any_blocked.load(std::memory_order_relaxed); }

 private:
  static std::atomic<bool> is_any_blocked;
  std::atomic<State> state_{State::kGood};
  mutable Mutex mutex_;
  std::string reason_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry
