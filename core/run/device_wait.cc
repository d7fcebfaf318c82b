// SPDX-License-Identifier: Apache-2.0
// Waits for devices. A run without limits blocks until the device is done. A run that can be
// stopped polls, so that it can return although the device does not respond.
#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "run/run_resources.h"

namespace gantry {
namespace {

using Clock = std::chrono::steady_clock;

// Polls until the event is complete; false: `goes_on` returned false first.
template <class GoesOn>
bool poll(const MemorySpace& space, gantry_event* event, const std::string& label,
          GoesOn&& goes_on) {
  constexpr int kMostYields = 50;
  constexpr int kLongestPauseUs = 500;
  for (int round = 0;; ++round) {
    uint32_t is_complete = 0;
    space.check(space.api->event_query(event, &is_complete), label);
    if (is_complete) return true;
    if (!goes_on()) return false;
    if (round < kMostYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(std::min(round, kLongestPauseUs)));
    }
  }
}

}  // namespace

Error stop_error(Code code) {
  return {code, code == Code::kCancelled ? "the run was cancelled"
                                         : "the run did not end before its deadline"};
}

void RunResources::wait(uint32_t space, gantry_event* event, const std::string& label) {
  const MemorySpace& at = devices_.space(space);
  if (!limits.can_stop() || !at.api->event_query) {
    at.check(at.api->event_synchronize(event), label);
    return;
  }
  poll(at, event, label, [&] {
    if (const Code code = stop_code(); code != Code::kOk) throw stop_error(code);
    return true;
  });
}

gantry_event* RunResources::mark_end(uint32_t space) {
  const MemorySpace& at = devices_.space(space);
  if (!ends_[space]) at.check(at.api->event_create(at.device, &ends_[space]), at.name());
  at.check(at.api->event_record(ends_[space], streams_[space]), at.name());
  return ends_[space];
}

void RunResources::synchronize() {
  const TraceSpan span(streams_.size() > 1 ? trace_ : nullptr, "wait", "wait for the devices");
  for (uint32_t i = 1; i < streams_.size(); ++i) {
    const MemorySpace& at = devices_.space(i);
    if (limits.can_stop() && at.api->event_query) wait(i, mark_end(i), at.name());
    at.check(at.api->stream_synchronize(streams_[i]), at.name());
  }
  for (const auto& clock : clocks_) {
    if (clock) clock->drain();
  }
}

std::optional<Error> RunResources::quiesce() noexcept {
  std::optional<Error> first;
  for (uint32_t i = 1; i < streams_.size(); ++i) {
    try {
      const MemorySpace& at = devices_.space(i);
      if (!at.is_hung() && !wait_until_idle(i)) {
        at.health()->block(DeviceHealth::State::kHung,
                           "it did not come to rest after a run on it was stopped");
      }
      is_abandoned_ = is_abandoned_ || at.is_hung();
      if (at.health()->is_good()) at.check(at.api->stream_synchronize(streams_[i]), at.name());
    } catch (const Error& error) {
      if (!first) first = error;
    } catch (...) {  // no memory for a message: the device is idle all the same
    }
  }
  return first;
}

// Waits until the device is idle. False: the run was stopped, and the device is still busy after
// the grace period.
bool RunResources::wait_until_idle(uint32_t space) {
  const MemorySpace& at = devices_.space(space);
  // Without limits there is no time to keep: synchronizing waits.
  if (!limits.can_stop() || !at.api->event_query || !at.health()->is_good()) return true;
  std::optional<Clock::time_point> end;
  try {
    return poll(at, mark_end(space), at.name(), [&] {
      if (stop_code() == Code::kOk) return true;
      const Clock::time_point now = Clock::now();
      if (!end) end = now + std::chrono::milliseconds(grace_ms);
      return now < *end;
    });
  } catch (const Error&) {
    return true;  // the work has failed, so it has ended; synchronizing returns the error
  }
}

}  // namespace gantry
