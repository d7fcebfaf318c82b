// SPDX-License-Identifier: Apache-2.0
#include "c_api/session_options.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "c_api/guard.h"
#include "c_api/values.h"

namespace gantry::ort {
namespace {

constexpr int kNoOptimization = 0;
constexpr int kBasicOptimization = 1;

Status* create(SessionSettings** out) {
  return guarded_call([&] { *out = new SessionSettings; });
}
Status* clone(const SessionSettings* options, SessionSettings** out) {
  return guarded_call([&] { *out = new SessionSettings(*options); });
}
void release(SessionSettings* options) { delete options; }

// What has no effect on results, and none here: memory patterns and arenas, which gantry plans for
// each session; parallel execution of nodes; identifiers and levels of a session's log.
Status* ignore() { return nullptr; }

Status* set_threads(SessionSettings* options, int count) {
  options->threads = std::max(count, 0);
  return nullptr;
}
Status* share_threads(SessionSettings* options) {
  options->has_own_threads = false;
  return nullptr;
}
Status* set_optimization(SessionSettings* options, int level) {
  options->optimization = level;
  return nullptr;
}
Status* enable_profiling(SessionSettings* options, const char* prefix) {
  return guarded_call([&] {
    options->profiles = true;
    options->profile_prefix = prefix;
  });
}
Status* disable_profiling(SessionSettings* options) {
  options->profiles = false;
  return nullptr;
}
Status* set_optimized_file(SessionSettings* options, const char* file) {
  return guarded_call([&] { options->optimized_file = file; });
}
Status* set_extent(SessionSettings* options, const char* name, int64_t extent) {
  return guarded_call([&] { options->extents[name] = extent; });
}

Status* set_cancelled(SessionSettings* options, bool is_cancelled) {
  *options->is_cancelled = is_cancelled;
  return nullptr;
}

Status* set_entry(SessionSettings* options, const char* key, const char* value) {
  return guarded_call([&] { options->entries[key] = value; });
}
Status* has_entry(const SessionSettings* options, const char* key, int* out) {
  return guarded_call([&] { *out = options->entries.contains(key) ? 1 : 0; });
}
// With `value` null, or too little room, only the size is told, the final zero included.
Status* get_entry(const SessionSettings* options, const char* key, char* value, size_t* size) {
  return guarded_call([&] {
    const auto found = options->entries.find(key);
    if (found == options->entries.end()) {
      throw ApiError(ErrorCode::kInvalidArgument,
                     "session config entry \"" + std::string(key) + "\": it was not added");
    }
    const size_t needed = found->second.size() + 1;
    const size_t room = *size;
    *size = needed;
    if (!value) return;
    if (room < needed) {
      throw ApiError(ErrorCode::kInvalidArgument, "session config entry \"" + std::string(key) +
                                                      "\": " + std::to_string(needed) +
                                                      " bytes do not fit " + std::to_string(room));
    }
    std::memcpy(value, found->second.c_str(), needed);
  });
}

Status* add_initializer(SessionSettings* options, const char* name, const Value* value) {
  return guarded_call([&] { options->initializers[name] = to_gantry(*value); });
}
Status* add_initializers(SessionSettings* options, const char* const* names,
                         const Value* const* values, size_t count) {
  return guarded_call([&] {
    for (size_t i = 0; i < count; ++i) options->initializers[names[i]] = to_gantry(*values[i]);
  });
}

Status* add_library(SessionSettings* options, const char* path) {
  return guarded_call([&] { options->libraries.emplace_back(path); });
}
// The older function also returns a handle, which the program closes with dlclose.
Status* add_library_with_handle(SessionSettings* options, const char* path, void** handle) {
  return guarded_call([&] {
    *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!*handle) throw ApiError(ErrorCode::kFail, dlerror());
    options->libraries.emplace_back(path);
  });
}

}  // namespace

SessionOptions SessionSettings::of_session(const Environment& environment) const {
  nlohmann::json session = {{"optimization", optimization == kNoOptimization      ? "none"
                                             : optimization == kBasicOptimization ? "basic"
                                                                                  : "all"}};
  const int count = has_own_threads ? threads : environment.threading.threads;
  if (count > 0) session["threads"] = count;
  if (!extents.empty()) session["dimensions"] = extents;
  std::vector<std::string> preferred = devices;
  preferred.emplace_back("CPU:0");
  nlohmann::json config = {{"session", std::move(session)},
                           {"placement", {{"prefer", preferred}, {"fallback", "allow"}}}};
  if (!libraries.empty()) config["providers"]["options"]["ort_custom_ops"]["libraries"] = libraries;
  return {.config_json = config.dump(),
          .profile = profiles,
          .initializers = initializers,
          .cancel = is_cancelled.get()};
}

void add_session_options_functions(ApiTable& table) {
  table.set(Slot::kCreateSessionOptions, create);
  table.set(Slot::kCloneSessionOptions, clone);
  table.set(Slot::kReleaseSessionOptions, release);
  for (const Slot slot :
       {Slot::kSetSessionExecutionMode, Slot::kEnableMemPattern, Slot::kDisableMemPattern,
        Slot::kEnableCpuMemArena, Slot::kDisableCpuMemArena, Slot::kSetSessionLogId,
        Slot::kSetSessionLogVerbosityLevel, Slot::kSetSessionLogSeverityLevel,
        Slot::kSetInterOpNumThreads, Slot::kEnableOrtCustomOps, Slot::kSetDeterministicCompute})
    table.set(slot, ignore);
  table.set(Slot::kSetIntraOpNumThreads, set_threads);
  table.set(Slot::kDisablePerSessionThreads, share_threads);
  table.set(Slot::kSetSessionGraphOptimizationLevel, set_optimization);
  table.set(Slot::kEnableProfiling, enable_profiling);
  table.set(Slot::kDisableProfiling, disable_profiling);
  table.set(Slot::kSetOptimizedModelFilePath, set_optimized_file);
  table.set(Slot::kAddFreeDimensionOverride, set_extent);
  table.set(Slot::kAddFreeDimensionOverrideByName, set_extent);
  table.set(Slot::kSetLoadCancellationFlag, set_cancelled);
  table.set(Slot::kAddSessionConfigEntry, set_entry);
  table.set(Slot::kHasSessionConfigEntry, has_entry);
  table.set(Slot::kGetSessionConfigEntry, get_entry);
  table.set(Slot::kAddInitializer, add_initializer);
  table.set(Slot::kAddExternalInitializers, add_initializers);
  table.set(Slot::kRegisterCustomOpsLibrary, add_library_with_handle);
  table.set(Slot::kRegisterCustomOpsLibraryV2, add_library);
}

}  // namespace gantry::ort
