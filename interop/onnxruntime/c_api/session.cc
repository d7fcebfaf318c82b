// SPDX-License-Identifier: Apache-2.0
#include "c_api/session.h"

#include <chrono>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

#include "c_api/guard.h"
#include "c_api/values.h"
#include "objects/memory.h"

namespace gantry::ort {
namespace {

using Infos = std::vector<ValueInfo>;

uint64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

void load(const Environment& environment, const SessionSettings* given, LoadedSession& loaded) {
  const SessionSettings plain;
  const SessionSettings& settings = given ? *given : plain;
  loaded.runtime = environment.runtime;
  loaded.profile_prefix = settings.profile_prefix;
  const SessionOptions options = settings.of_session(environment);
  if (!settings.optimized_file.empty())
    write_optimized(*loaded.runtime, loaded.source(), settings.optimized_file, options);
  loaded.session = std::make_unique<Session>(*loaded.runtime, loaded.source(), options);
  for (const ValueInfo& input : loaded.session->inputs())
    (input.required ? loaded.required : loaded.overridable).push_back(input);
  loaded.started_ns = now_ns();
}

Status* create(const Environment* environment, const char* path, const SessionSettings* settings,
               LoadedSession** out) {
  return guarded_call([&] {
    auto loaded = std::make_unique<LoadedSession>();
    loaded->path = path;
    load(*environment, settings, *loaded);
    *out = loaded.release();
  });
}
Status* create_from_bytes(const Environment* environment, const void* bytes, size_t size,
                          const SessionSettings* settings, LoadedSession** out) {
  return guarded_call([&] {
    if (size == 0)
      throw ApiError(ErrorCode::kInvalidArgument, "expected the bytes of a model, found none");
    auto loaded = std::make_unique<LoadedSession>();
    const auto* first = static_cast<const std::byte*>(bytes);
    loaded->model.assign(first, first + size);
    load(*environment, settings, *loaded);
    *out = loaded.release();
  });
}
void release(LoadedSession* session) { delete session; }

const Infos& inputs_of(const LoadedSession& session) { return session.required; }
const Infos& overridable_of(const LoadedSession& session) { return session.overridable; }
const Infos& outputs_of(const LoadedSession& session) { return session.session->outputs(); }

template <auto kInfos>
const ValueInfo& info_at(const LoadedSession& session, size_t index) {
  const Infos& infos = kInfos(session);
  if (index >= infos.size()) {
    throw ApiError(ErrorCode::kFail,
                   "index " + std::to_string(index) + ", of " + std::to_string(infos.size()));
  }
  return infos[index];
}
template <auto kInfos>
Status* get_count(const LoadedSession* session, size_t* out) {
  *out = kInfos(*session).size();
  return nullptr;
}
template <auto kInfos>
Status* get_type(const LoadedSession* session, size_t index, TypeInfo** out) {
  return guarded_call([&] { *out = new TypeInfo(type_of(info_at<kInfos>(*session, index))); });
}
template <auto kInfos>
Status* get_name(const LoadedSession* session, size_t index, Allocator* allocator, char** out) {
  return guarded_call([&] { *out = copy_text(*allocator, info_at<kInfos>(*session, index).name); });
}

// Events in the Trace Event Format: of each node the time of all its runs, as gantry measures it.
nlohmann::json events_of(const Session& session) {
  constexpr double kNanosecondsOfMicrosecond = 1000;
  nlohmann::json events = nlohmann::json::array();
  double start = 0;
  for (const NodeTime& node : session.profile()) {
    const double duration = static_cast<double>(node.total_ns) / kNanosecondsOfMicrosecond;
    events.push_back({{"cat", "Node"},
                      {"name", node.node},
                      {"ph", "X"},
                      {"pid", getpid()},
                      {"tid", 0},
                      {"ts", start},
                      {"dur", duration},
                      {"args",
                       {{"op_name", node.op_type},
                        {"provider", node.provider},
                        {"device", node.device},
                        {"runs", node.runs}}}});
    start += duration;
  }
  return events;
}

Status* end_profiling(LoadedSession* session, Allocator* allocator, char** out) {
  return guarded_call([&] {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    char stamp[32];
    std::strftime(stamp, sizeof(stamp), "_%Y-%m-%d_%H-%M-%S.json", &local);
    const std::string name = session->profile_prefix + stamp;
    std::ofstream file(name);
    file << events_of(*session->session).dump(1) << '\n';
    file.close();
    if (!file) throw ApiError(ErrorCode::kFail, name + ": it cannot be written");
    session->session->reset_profile();
    *out = copy_text(*allocator, name);
  });
}
Status* get_profiling_start(const LoadedSession* session, uint64_t* out) {
  *out = session->started_ns;
  return nullptr;
}

Status* create_allocator(const LoadedSession*, const MemoryInfo*, Allocator** out) {
  *out = &host_allocator();
  return nullptr;
}

}  // namespace

ModelSource LoadedSession::source() const {
  return model.empty() ? ModelSource(path) : ModelSource(std::span(model), {});
}

size_t LoadedSession::output(const std::string& name) const {
  const Infos& infos = session->outputs();
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].name == name) return i;
  }
  throw ApiError(ErrorCode::kInvalidArgument, "output \"" + name + "\": the model has none");
}

void add_session_functions(ApiTable& table) {
  table.set(Slot::kCreateSession, create);
  table.set(Slot::kCreateSessionFromArray, create_from_bytes);
  table.set(Slot::kReleaseSession, release);
  table.set(Slot::kSessionGetInputCount, get_count<inputs_of>);
  table.set(Slot::kSessionGetOutputCount, get_count<outputs_of>);
  table.set(Slot::kSessionGetOverridableInitializerCount, get_count<overridable_of>);
  table.set(Slot::kSessionGetInputTypeInfo, get_type<inputs_of>);
  table.set(Slot::kSessionGetOutputTypeInfo, get_type<outputs_of>);
  table.set(Slot::kSessionGetOverridableInitializerTypeInfo, get_type<overridable_of>);
  table.set(Slot::kSessionGetInputName, get_name<inputs_of>);
  table.set(Slot::kSessionGetOutputName, get_name<outputs_of>);
  table.set(Slot::kSessionGetOverridableInitializerName, get_name<overridable_of>);
  table.set(Slot::kSessionEndProfiling, end_profiling);
  table.set(Slot::kSessionGetProfilingStartTimeNs, get_profiling_start);
  table.set(Slot::kCreateAllocator, create_allocator);
}

}  // namespace gantry::ort
