// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fnmatch.h>

#include "levels.h"

namespace gantry::checks {

bool is_named(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

Checks all_checks(const Subject& subject) {
  Checks checks;
  add_loading_checks(checks, subject);
  add_version_checks(checks, subject);
  add_device_checks(checks, subject);
  add_stream_checks(checks, subject);
  add_capture_checks(checks, subject);
  add_claim_checks(checks, subject);
  add_hostile_checks(checks, subject);
  add_blob_checks(checks, subject);
  add_thread_checks(checks, subject);
  add_memory_checks(checks, subject);
  add_fault_checks(checks, subject);
  // Last, as its sessions leave the provider open.
  add_case_checks(checks, subject);
  add_random_checks(checks, subject);
  add_chain_checks(checks, subject);
  const auto is_left_out = [&](const Check& check) {
    const bool is_wanted =
        subject.only.empty() ||
        std::any_of(subject.only.begin(), subject.only.end(),
                    [&](const std::string& pattern) { return is_named(pattern, check.name); });
    return check.level > subject.level || !is_wanted;
  };
  checks.erase(std::remove_if(checks.begin(), checks.end(), is_left_out), checks.end());
  return checks;
}

}  // namespace gantry::checks
