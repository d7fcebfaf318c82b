// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/background_work.h"

#include <chrono>
#include <utility>

#include "base/run_limits.h"
#include "base/start_async.h"

namespace gantry {

StopQuestion stop_of_load() {
  return [] {
    const RunLimits* limits = load_limits();
    return limits ? limits->stop_code() : Code::kOk;
  };
}

BackgroundWork start_background_work(const std::function<void()>& work) {
  return start_async(work).share();
}

bool is_over(const BackgroundWork& work) {
  return !work.valid() || work.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void wait_for(const BackgroundWork& work, const StopQuestion& stop, const std::string& what) {
  constexpr std::chrono::milliseconds kTick{10};
  // Work without a thread is deferred: get() runs it.
  while (work.wait_for(kTick) == std::future_status::timeout) {
    const Code code = stop ? stop() : Code::kOk;
    if (code == Code::kOk) continue;
    throw Error(code,
                what + " had not ended when the run was to stop; it goes on for the next one");
  }
  work.get();
}

}  // namespace gantry
