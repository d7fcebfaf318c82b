// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/crash_counter.h"

#include <deque>
#include <map>

#include "base/mutex.h"
#include "base/process_state.h"

namespace gantry {
namespace {

struct Record {
  std::deque<CrashCounter::Clock::time_point> crashes;
  std::string quarantine;
};

struct Records {
  static constexpr ProcessState kState = ProcessState::kCrashCounter;

  Mutex mutex;
  std::map<std::string, Record> by_library GANTRY_GUARDED_BY(mutex);
};

Records& records() { return process_state<Records>(); }

}  // namespace

void CrashCounter::note(const std::string& how, Clock::time_point now) const {
  Records& all = records();
  const MutexLock lock(all.mutex);
  Record& record = all.by_library[library_];
  record.crashes.push_back(now);
  while (now - record.crashes.front() > kWithin) record.crashes.pop_front();
  if (record.crashes.size() < kMostCrashes || !record.quarantine.empty()) return;
  record.quarantine = "its process ended " + std::to_string(kMostCrashes) + " times within " +
                      std::to_string(kWithin.count()) + " minutes, at last it " + how +
                      "; it is not started again before this process is";
}

std::string CrashCounter::quarantine() const {
  Records& all = records();
  const MutexLock lock(all.mutex);
  const auto found = all.by_library.find(library_);
  return found == all.by_library.end() ? std::string() : found->second.quarantine;
}

}  // namespace gantry
