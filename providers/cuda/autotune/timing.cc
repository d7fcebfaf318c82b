// SPDX-License-Identifier: Apache-2.0
#include "autotune/timing.h"

#include <algorithm>
#include <array>
#include <limits>

namespace gantry::cuda {
namespace {

constexpr size_t kTimedRuns = 5;
// One write evicts what the cache holds; with more the host gets ahead of several calls of a
// library, each of which takes it some 5 us.
constexpr int kWrites = 3;
constexpr float kFails = std::numeric_limits<float>::infinity();

// A buffer of the size of the L2 cache, or none if it cannot be allocated.
class CacheOfMemory {
 public:
  explicit CacheOfMemory(Stream& stream) : stream_(stream) {
    Device& device = stream.device();
    try {
      memory_ = device.allocate(device.info.cache_bytes);
    } catch (const sdk::Error&) {
      // Times with a warm L2 cache are better than none.
    }
  }
  ~CacheOfMemory() {
    // Freeing is not ordered with this stream, so the memory must be idle.
    Device& device = stream_.device();
    device.driver.stream_synchronize(stream_.handle());
    device.free(memory_);
  }
  CacheOfMemory(const CacheOfMemory&) = delete;
  CacheOfMemory& operator=(const CacheOfMemory&) = delete;

  void write() const {
    if (!memory_) return;
    const Device& device = stream_.device();
    for (int i = 0; i < kWrites; ++i) {
      device.driver.fill_8(reinterpret_cast<uintptr_t>(memory_), 0, device.info.cache_bytes,
                           stream_.handle());
    }
  }

 private:
  Stream& stream_;
  void* memory_ = nullptr;
};

// A pair of events for each timed run.
class Marks {
 public:
  explicit Marks(const Driver& driver) : driver_(driver) {
    for (EventHandle& event : events_) {
      if (driver.event_create(&event, 0) != kSuccess) event = nullptr;
    }
  }
  ~Marks() {
    for (EventHandle event : events_) {
      if (event) driver_.event_destroy(event);
    }
  }
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  [[nodiscard]] bool are_made() const {
    return std::all_of(events_.begin(), events_.end(), [](EventHandle event) { return event; });
  }
  [[nodiscard]] EventHandle begin(size_t run) const { return events_.at(2 * run); }
  [[nodiscard]] EventHandle end(size_t run) const { return events_.at(2 * run + 1); }

 private:
  const Driver& driver_;
  std::array<EventHandle, 2 * kTimedRuns> events_{};
};

}  // namespace

float time_of(Stream& stream, const std::function<int()>& enqueue) {
  const Driver& driver = stream.device().driver;
  const Marks marks(driver);
  if (!marks.are_made() || enqueue() != 0) return kFails;
  const CacheOfMemory cache(stream);
  for (size_t run = 0; run < kTimedRuns; ++run) {
    cache.write();
    driver.event_record(marks.begin(run), stream.handle());
    if (enqueue() != 0) return kFails;
    driver.event_record(marks.end(run), stream.handle());
  }
  if (driver.event_synchronize(marks.end(kTimedRuns - 1)) != kSuccess) return kFails;
  std::array<float, kTimedRuns> times{};
  for (size_t run = 0; run < kTimedRuns; ++run) {
    if (driver.event_elapsed(&times.at(run), marks.begin(run), marks.end(run)) != kSuccess)
      return kFails;
  }
  std::sort(times.begin(), times.end());
  return times.at(kTimedRuns / 2);
}

void log_times(const Device& device, const std::string& what, const std::vector<float>& times_ms) {
  const auto best = std::min_element(times_ms.begin(), times_ms.end()) - times_ms.begin();
  std::string text = device.name() + ": the fastest of " + std::to_string(times_ms.size()) +
                     " for " + what + " is number " + std::to_string(best) + ", of";
  for (const float time : times_ms)
    text += " " + (time == kFails ? std::string("none") : std::to_string(time * 1000));
  device.host->log(GANTRY_LOG_INFO, sdk::to_str(text + " us"));
}

}  // namespace gantry::cuda
