// SPDX-License-Identifier: Apache-2.0
#include "c_api/run_options.h"

#include "c_api/guard.h"

namespace gantry::ort {
namespace {

Status* create(RunSettings** out) {
  return guarded_call([&] { *out = new RunSettings; });
}
void release(RunSettings* settings) { delete settings; }

template <bool kIsEnded>
Status* set_ended(RunSettings* settings) {
  settings->is_ended = kIsEnded;
  return nullptr;
}
template <auto kMember>
Status* set_number(RunSettings* settings, int number) {
  settings->*kMember = number;
  return nullptr;
}
template <auto kMember>
Status* get_number(const RunSettings* settings, int* out) {
  *out = settings->*kMember;
  return nullptr;
}
Status* set_tag(RunSettings* settings, const char* tag) {
  return guarded_call([&] { settings->tag = tag; });
}
Status* get_tag(const RunSettings* settings, const char** out) {
  *out = settings->tag.c_str();
  return nullptr;
}
Status* set_entry(RunSettings* settings, const char* key, const char* value) {
  return guarded_call([&] { settings->entries[key] = value; });
}

const char* get_entry(const RunSettings* settings, const char* key) {
  const auto found = settings->entries.find(key);
  return found == settings->entries.end() ? nullptr : found->second.c_str();
}

}  // namespace

void add_run_options_functions(ApiTable& table) {
  table.set(Slot::kCreateRunOptions, create);
  table.set(Slot::kReleaseRunOptions, release);
  table.set(Slot::kRunOptionsSetTerminate, set_ended<true>);
  table.set(Slot::kRunOptionsUnsetTerminate, set_ended<false>);
  table.set(Slot::kRunOptionsSetRunLogVerbosityLevel, set_number<&RunSettings::verbosity>);
  table.set(Slot::kRunOptionsGetRunLogVerbosityLevel, get_number<&RunSettings::verbosity>);
  table.set(Slot::kRunOptionsSetRunLogSeverityLevel, set_number<&RunSettings::severity>);
  table.set(Slot::kRunOptionsGetRunLogSeverityLevel, get_number<&RunSettings::severity>);
  table.set(Slot::kRunOptionsSetRunTag, set_tag);
  table.set(Slot::kRunOptionsGetRunTag, get_tag);
  table.set(Slot::kAddRunConfigEntry, set_entry);
  table.set(Slot::kGetRunConfigEntry, get_entry);
}

}  // namespace gantry::ort
