// SPDX-License-Identifier: Apache-2.0
// Waiting for a message awake, for a moment, before sleeping for it. A thread that sleeps leaves
// its core idle, and to wake it there costs 25 us and more on a virtual machine: as long as a short
// run in a worker process takes there and back. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>

namespace gantry {

class AwakeWait {
 public:
  /// True: `socket` has something to read, or its other end is closed. False: it is time to sleep.
  /// Awake at most for `bound`, and not at all
  /// - if the other side was on this core (`other_core`; -1: not known) when it last sent: it
  /// cannot
  ///   go on before this thread sleeps, and is woken without a detour;
  /// - if waits came to nothing before: after the second in a row one is left out, after the next
  ///   three, up to kMostLeftOut;
  /// - for kRest after somebody else had this core in a wait: who sleeps is served before those
  ///   that use up their share.
  bool wait(int socket, std::chrono::microseconds bound, int other_core) noexcept;

  static constexpr uint32_t kMostLeftOut = 63;
  static constexpr std::chrono::milliseconds kRest{100};

 private:
  using Clock = std::chrono::steady_clock;
  bool stay_awake(int socket, Clock::time_point start, std::chrono::microseconds bound) noexcept;

  uint32_t failures_ = 0;  // waits in a row that ended without a message
  uint32_t left_out_ = 0;  // waits that are still to be left out
  Clock::time_point rested_;
};

}  // namespace gantry
