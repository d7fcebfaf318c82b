// SPDX-License-Identifier: Apache-2.0
#include "timing.h"

#include <limits>

namespace gantry::cuda {

float time_of(Stream& stream, const std::function<int()>& enqueue) {
  constexpr int kTimedRuns = 5;
  const Driver& driver = stream.device().driver;
  EventHandle begin = nullptr;
  EventHandle end = nullptr;
  float time = std::numeric_limits<float>::infinity();
  if (driver.event_create(&begin, 0) == kSuccess && driver.event_create(&end, 0) == kSuccess &&
      enqueue() == 0) {
    driver.event_record(begin, stream.handle());
    int status = 0;
    for (int run = 0; run < kTimedRuns && status == 0; ++run) status = enqueue();
    driver.event_record(end, stream.handle());
    float measured = 0;
    if (driver.event_synchronize(end) == kSuccess && status == 0 &&
        driver.event_elapsed(&measured, begin, end) == kSuccess)
      time = measured;
  }
  if (begin) driver.event_destroy(begin);
  if (end) driver.event_destroy(end);
  return time;
}

}  // namespace gantry::cuda
