// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/crash_ladder.h"

#include <deque>
#include <map>
#include <mutex>

namespace gantry {
namespace {

struct Record {
  std::deque<CrashLadder::Clock::time_point> crashes;
  std::string quarantine;
};

struct Records {
  std::mutex mutex;
  std::map<std::string, Record> by_library;
};

// Never destroyed: providers are closed until the process ends.
Records& records() {
  static auto* const instance = new Records;
  return *instance;
}

}  // namespace

void CrashLadder::note(const std::string& how, Clock::time_point now) const {
  Records& all = records();
  const std::lock_guard<std::mutex> lock(all.mutex);
  Record& record = all.by_library[library_];
  record.crashes.push_back(now);
  while (now - record.crashes.front() > kWithin) record.crashes.pop_front();
  if (record.crashes.size() < kMostCrashes || !record.quarantine.empty()) return;
  record.quarantine = "its process ended " + std::to_string(kMostCrashes) + " times within " +
                      std::to_string(kWithin.count()) + " minutes, at last it " + how +
                      "; it is not started again before this process is";
}

std::string CrashLadder::quarantine() const {
  Records& all = records();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.by_library.find(library_);
  return found == all.by_library.end() ? std::string() : found->second.quarantine;
}

}  // namespace gantry
