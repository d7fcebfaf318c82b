// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/spin_wait.h"

#include <algorithm>
#include <poll.h>
#include <sched.h>

namespace gantry {
namespace {

// A gap this long means that another thread had a time slice of this core; interrupts and short
// threads take less.
constexpr std::chrono::milliseconds kLongGap{1};

bool is_readable(int socket) noexcept {
  pollfd wait = {socket, POLLIN, 0};
  return poll(&wait, 1, 0) > 0;
}

}  // namespace

bool SpinWait::wait(int socket, std::chrono::microseconds bound, int other_core) noexcept {
  if (bound.count() == 0 || other_core == sched_getcpu()) return false;
  if (left_out_ > 0) {
    --left_out_;
    return false;
  }
  const Clock::time_point start = Clock::now();
  if (start < rested_) return false;
  if (spin(socket, start, bound)) {
    failures_ = 0;
    return true;
  }
  constexpr uint32_t kMostFailures = 7;
  static_assert((1U << (kMostFailures - 1)) - 1 == kMostLeftOut);
  failures_ = std::min(failures_ + 1, kMostFailures);
  left_out_ = (1U << (failures_ - 1)) - 1;
  return false;
}

// Does not yield: on a busy machine the core would come back only after milliseconds.
bool SpinWait::spin(int socket, Clock::time_point start, std::chrono::microseconds bound) noexcept {
  for (Clock::time_point before = start;;) {
    const bool has_come = is_readable(socket);
    const Clock::time_point now = Clock::now();
    if (now - before > kLongGap) rested_ = now + kRest;
    if (has_come || now < rested_ || now - start >= bound) return has_come;
    before = now;
  }
}

}  // namespace gantry
