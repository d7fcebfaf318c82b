// SPDX-License-Identifier: Apache-2.0
// Spins for a message for a short time before the thread blocks. To wake a blocked thread on an
// idle core costs 25 us and more on a virtual machine: as long as a short run in a worker process
// takes with both messages. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>

namespace gantry {

class SpinWait {
 public:
  /// Spins until `socket` is readable or its other end is closed (true), or until `bound` has
  /// passed and the caller must block (false). Returns false at once in these cases:
  /// - The other side last sent from this core (`other_core`; -1: not known). It cannot continue
  ///   before this thread blocks.
  /// - Earlier spins failed. After the second failure in a row one spin is skipped, after the next
  ///   three, and so on up to kMostLeftOut.
  /// - Within the last kRest another thread had this core during a spin. The scheduler prefers
  ///   threads that block to those that use up their time slice.
  bool wait(int socket, std::chrono::microseconds bound, int other_core) noexcept;

  static constexpr uint32_t kMostLeftOut = 63;
  static constexpr std::chrono::milliseconds kRest{100};

 private:
  using Clock = std::chrono::steady_clock;
  bool spin(int socket, Clock::time_point start, std::chrono::microseconds bound) noexcept;

  uint32_t failures_ = 0;  // spins in a row that ended without a message
  uint32_t left_out_ = 0;  // spins that are still to be skipped
  Clock::time_point rested_;
};

}  // namespace gantry
