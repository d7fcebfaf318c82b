// SPDX-License-Identifier: Apache-2.0
#include "c_api/environment.h"

#include <gantry/log.h>
#include <gantry/sdk/mutex.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "c_api/guard.h"
#include "objects/memory.h"

namespace gantry::ort {
namespace {

constexpr char kSuffix[] = "ExecutionProvider";

/// OrtLoggingLevel: verbose, info, warning, error, fatal.
constexpr LogLevel kLevels[] = {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning,
                                LogLevel::kError, LogLevel::kError};
constexpr int kWarningLevel = 2;

using LogFunction = void (*)(void* parameter, int level, const char* category, const char* id,
                             const char* location, const char* message);

/// What the program asks for, unless the user asks for something else.
void set_level(int level) {
  if (std::getenv("GANTRY_LOG")) return;
  const int known = level >= 0 && level <= 4 ? level : kWarningLevel;
  set_log_level(kLevels[known]);
}

int level_of(LogLevel level) {
  return static_cast<int>(std::find(std::begin(kLevels), std::end(kLevels), level) -
                          std::begin(kLevels));
}

// `function` null: the log goes on as it did.
Status* make_environment(int level, const ThreadingOptions* threading, Environment** out,
                         LogFunction function = nullptr, void* parameter = nullptr,
                         const char* id = nullptr) {
  return guarded_call([&] {
    set_level(level);
    auto made = std::make_unique<Environment>();
    made->runtime = shared_runtime();
    if (threading) made->threading = *threading;
    if (function) {
      set_log_handler([function, parameter, name = std::string(id ? id : "")](
                          LogLevel of_line, std::string_view line) {
        const std::string message(line);
        function(parameter, level_of(of_line), "gantry", name.c_str(), "", message.c_str());
      });
      made->has_logger = true;
    }
    *out = made.release();
  });
}

Status* create(int level, const char*, Environment** out) {
  return make_environment(level, nullptr, out);
}
Status* create_with_logger(LogFunction function, void* parameter, int level, const char* id,
                           Environment** out) {
  return make_environment(level, nullptr, out, function, parameter, id);
}
Status* create_with_threads(int level, const char*, const ThreadingOptions* threading,
                            Environment** out) {
  return make_environment(level, threading, out);
}
Status* create_with_logger_and_threads(LogFunction function, void* parameter, int level,
                                       const char* id, const ThreadingOptions* threading,
                                       Environment** out) {
  return make_environment(level, threading, out, function, parameter, id);
}
void release(Environment* environment) { delete environment; }

Status* set_environment_level(Environment*, int level) {
  set_level(level);
  return nullptr;
}

Status* create_threading(ThreadingOptions** out) {
  return guarded_call([&] { *out = new ThreadingOptions; });
}
Status* set_threads(ThreadingOptions* options, int count) {
  options->threads = std::max(count, 0);
  return nullptr;
}
void release_threading(ThreadingOptions* options) { delete options; }

/// OrtArenaCfg: gantry plans the memory of each session, so there is nothing to set.
struct ArenaSettings {};
Status* create_arena(size_t, int, int, int, ArenaSettings** out) {
  return guarded_call([&] { *out = new ArenaSettings; });
}
Status* create_arena_v2(const char* const*, const size_t*, size_t, ArenaSettings** out) {
  return guarded_call([&] { *out = new ArenaSettings; });
}
void release_arena(ArenaSettings* settings) { delete settings; }

const char* build_info() { return "ORT Build Info: gantry"; }

// What has no effect here: telemetry, languages, arenas, how threads spin and where they run. The
// arguments, which differ, are the caller's to remove.
Status* ignore() { return nullptr; }

Status* get_providers(char*** out, int* count) {
  return guarded_call([&] {
    const std::vector<std::string> types = device_types(*shared_runtime());
    auto names = std::make_unique<char*[]>(types.size());
    Allocator& allocator = host_allocator();
    for (size_t i = 0; i < types.size(); ++i) names[i] = copy_text(allocator, types[i] + kSuffix);
    *out = names.release();
    *count = static_cast<int>(types.size());
  });
}
Status* release_providers(char** names, int count) {
  for (int i = 0; i < count; ++i) host_allocator().release(&host_allocator(), names[i]);
  delete[] names;
  return nullptr;
}

}  // namespace

std::shared_ptr<Runtime> shared_runtime() {
  static sdk::Mutex mutex;
  static std::weak_ptr<Runtime> kept GANTRY_GUARDED_BY(mutex);
  const sdk::MutexLock lock(mutex);
  std::shared_ptr<Runtime> runtime = kept.lock();
  if (!runtime) {
    runtime = std::make_shared<Runtime>();
    kept = runtime;
  }
  return runtime;
}

Environment::~Environment() {
  if (has_logger) set_log_handler({});
}

std::vector<std::string> device_types(Runtime& runtime) {
  std::vector<std::string> types;
  for (const DeviceInfo& info : runtime.devices()) {
    const std::string& type = info.device.type;
    if (info.state == "ready" && !info.is_stand_in && type != "CPU" &&
        std::find(types.begin(), types.end(), type) == types.end())
      types.push_back(type);
  }
  types.emplace_back("CPU");
  return types;
}

char* copy_text(Allocator& allocator, const std::string& text) {
  auto* copy = static_cast<char*>(allocator.allocate(&allocator, text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

void add_environment_functions(ApiTable& table) {
  table.set(Slot::kCreateEnv, create);
  table.set(Slot::kCreateEnvWithCustomLogger, create_with_logger);
  table.set(Slot::kCreateEnvWithGlobalThreadPools, create_with_threads);
  table.set(Slot::kCreateEnvWithCustomLoggerAndGlobalThreadPools, create_with_logger_and_threads);
  table.set(Slot::kReleaseEnv, release);
  table.set(Slot::kUpdateEnvWithCustomLogLevel, set_environment_level);
  table.set(Slot::kCreateThreadingOptions, create_threading);
  table.set(Slot::kSetGlobalIntraOpNumThreads, set_threads);
  table.set(Slot::kReleaseThreadingOptions, release_threading);
  for (const Slot slot : {Slot::kEnableTelemetryEvents, Slot::kDisableTelemetryEvents,
                          Slot::kSetLanguageProjection, Slot::kSetGlobalInterOpNumThreads,
                          Slot::kSetGlobalSpinControl, Slot::kSetGlobalDenormalAsZero,
                          Slot::kSetGlobalIntraOpThreadAffinity, Slot::kCreateAndRegisterAllocator})
    table.set(slot, ignore);
  table.set(Slot::kCreateArenaCfg, create_arena);
  table.set(Slot::kCreateArenaCfgV2, create_arena_v2);
  table.set(Slot::kReleaseArenaCfg, release_arena);
  table.set(Slot::kGetBuildInfoString, build_info);
  table.set(Slot::kGetAvailableProviders, get_providers);
  table.set(Slot::kReleaseAvailableProviders, release_providers);
}

}  // namespace gantry::ort
