// SPDX-License-Identifier: Apache-2.0
// Whether an opened device is usable, lost or hung. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/mutex.h"

namespace gantry {

/// The state of a device: good until block(), and then never good again while its provider is open.
class DeviceHealth {
 public:
  enum class State : uint32_t {
    kGood,
    kLost,  ///< the provider returned DEVICE_LOST: only destroy, free and close functions are
            ///< called
    kHung,  ///< still busy after a stopped run: nothing is called, and memory it may use is not
            ///< freed
  };

  [[nodiscard]] State state() const noexcept { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_good() const noexcept { return state() == State::kGood; }
  [[nodiscard]] bool is_hung() const noexcept { return state() == State::kHung; }
  /// One sentence without a final stop; empty while the device is good.
  [[nodiscard]] std::string reason() const;
  /// Sets the state; only the first call has an effect.
  void block(State state, const std::string& reason);

  /// True once any device of the process is not good: a cheap test for every run.
  static bool any_blocked() noexcept { return is_any_blocked.load(std::memory_order_relaxed); }

 private:
  static std::atomic<bool> is_any_blocked;
  std::atomic<State> state_{State::kGood};
  mutable Mutex mutex_;
  std::string reason_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry
