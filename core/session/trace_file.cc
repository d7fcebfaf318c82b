// SPDX-License-Identifier: Apache-2.0
#include "session/trace_file.h"

#include <gantry/dtype.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/output_file.h"
#include "base/process_state.h"
#include "base/value.h"
#include "run/step_trace.h"

namespace gantry {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kHostProcess = 1;  // devices follow

double microseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }

Json texts_of(const std::vector<std::optional<TracedTensor>>& tensors) {
  Json texts = Json::array();
  for (const auto& tensor : tensors)
    texts.push_back(tensor ? Json(describe(tensor->dtype, tensor->shape)) : Json(nullptr));
  return texts;
}

const char* category_of(StepKind kind) {
  switch (kind) {
    case StepKind::kKernel:
      return "kernel";
    case StepKind::kCopy:
      return "copy";
    case StepKind::kReorder:
      return "reorder";
    case StepKind::kControlFlow:
      return "control flow";
  }
  return "";
}

class Writer {
 public:
  Writer(const std::filesystem::path& file, const Trace& trace,
         std::span<const Program* const> programs)
      : file_(file),
        stream_(file, std::ios::binary | std::ios::trunc),
        trace_(trace),
        tracks_(trace.tracks()) {
    for (const Program* program : programs) {
      for_each_step(*program, [&](const Step& step, const std::string& name, uint32_t) {
        steps_[&step] = {&step, name};
      });
    }
    for (const TraceTrack& track : tracks_) {
      if (!track.group.empty())
        processes_.try_emplace(track.group, kHostProcess + 1 + static_cast<int>(processes_.size()));
    }
  }

  void write(const std::string& model) {
    const Json about{{"producer", "gantry"}, {"model", model}, {"dropped", trace_.dropped()}};
    stream_ << R"({"displayTimeUnit":"ns","otherData":)" << text_of(about) << ",\"traceEvents\":[";
    put({{"ph", "M"},
         {"name", "process_name"},
         {"pid", kHostProcess},
         {"args", {{"name", model}}}});
    for (const auto& [device, process] : processes_)
      put({{"ph", "M"}, {"name", "process_name"}, {"pid", process}, {"args", {{"name", device}}}});
    for (uint32_t i = 0; i < tracks_.size(); ++i) {
      if (!tracks_[i].group.empty()) name_thread(process_of(i), i + 1, tracks_[i].name);
    }
    write_records();
    stream_ << "\n]}\n";
    stream_.close();
    if (!stream_) {
      const int reason = errno;
      remove_partial_file(file_);  // it would look like a whole one
      throw Error(Code::kUnavailable, file_.string() + ": the trace cannot be written: " +
                                          std::generic_category().message(reason));
    }
  }

 private:
  struct Named {
    const Step* step;
    std::string name;
  };

  static std::string text_of(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  void put(const Json& event) {
    stream_ << (is_first_ ? "\n" : ",\n") << text_of(event);
    is_first_ = false;
  }

  void name_thread(int process, uint32_t thread, const std::string& name) {
    put({{"ph", "M"},
         {"name", "thread_name"},
         {"pid", process},
         {"tid", thread},
         {"args", {{"name", name}}}});
  }

  [[nodiscard]] int process_of(uint32_t track) const { return processes_.at(tracks_[track].group); }

  // True for records of application threads. Pool threads have only parts of parallel_for, compile
  // spans, and spans of providers inside either.
  static bool is_caller(const TraceRecord& record) {
    if (record.kind != TraceKind::kSpan)
      return record.kind == TraceKind::kStep || record.kind == TraceKind::kReplay;
    const std::string_view category = static_cast<const char*>(record.subject);
    return category == "load" || category == "run";
  }

  // Writes the records by start time, outer spans first.
  void write_records() {
    std::vector<std::pair<uint32_t, const TraceRecord*>> records;
    std::set<uint32_t> workers;
    std::set<uint32_t> callers;
    trace_.read([&](uint32_t thread, const TraceRecord& record) {
      records.emplace_back(thread, &record);
      if (is_caller(record)) {
        callers.insert(thread);
      } else if (record.kind == TraceKind::kSpan || record.kind == TraceKind::kPart) {
        workers.insert(thread);
      }
    });
    for (const uint32_t thread : callers) {
      workers.erase(thread);
      name_thread(kHostProcess, thread, "thread " + std::to_string(thread));
    }
    for (const uint32_t thread : workers)
      name_thread(kHostProcess, thread, "worker " + std::to_string(thread));
    std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.second->start_ns, b.second->duration_ns) <
             std::tuple(b.second->start_ns, a.second->duration_ns);
    });
    for (const auto& [thread, record] : records) put(event_of(thread, *record));
  }

  [[nodiscard]] Json event_of(uint32_t thread, const TraceRecord& record) const {
    const double start = microseconds(record.start_ns - trace_.start_ns());
    if (record.kind == TraceKind::kMemory) {
      return {{"ph", "C"},
              {"name", tracks_[record.track].name},
              {"ts", start},
              {"pid", kHostProcess},
              {"args", {{"arena", record.numbers()[0]}, {"pool", record.numbers()[1]}}}};
    }
    const bool is_device = record.kind == TraceKind::kDevice;
    Json event{{"ph", "X"},
               {"name", ""},
               {"cat", ""},
               {"ts", start},
               {"dur", microseconds(record.duration_ns)},
               {"pid", is_device ? process_of(record.track) : kHostProcess},
               {"tid", is_device ? record.track + 1 : thread}};
    if (record.kind == TraceKind::kSpan) {
      describe_span(record, event);
    } else {
      describe_step(record, event);
    }
    return event;
  }

  static void describe_span(const TraceRecord& record, Json& event) {
    const std::string_view text = record.text();
    const size_t middle = text.find('\0');
    event["name"] = text.substr(0, middle);
    event["cat"] = static_cast<const char*>(record.subject);
    if (middle + 1 < text.size()) event["args"] = {{"detail", text.substr(middle + 1)}};
  }

  void describe_step(const TraceRecord& record, Json& event) const {
    const Named& named = steps_.at(record.subject);
    const Step& step = *named.step;
    const bool is_replay = record.kind == TraceKind::kReplay ||
                           (record.kind == TraceKind::kDevice && record.numbers()[0] > 0);
    if (is_replay) return describe_replay(record, step, event);
    event["name"] = step.label;
    Json& args = event["args"] = {{"node", named.name}};
    if (record.kind == TraceKind::kPart) {
      event["cat"] = "part";
      args["first"] = record.numbers()[0];
      args["end"] = record.numbers()[1];
    } else if (record.kind == TraceKind::kDevice) {
      event["cat"] = "device";
    } else {
      event["cat"] = category_of(step.kind);
      describe_call(step, named.name, read_call(record.numbers()), args);
    }
  }

  /// `head`: the first of the consecutive steps of the capture.
  void describe_replay(const TraceRecord& record, const Step& head, Json& event) const {
    const auto count = static_cast<size_t>(record.numbers()[0]);
    event["name"] = "captured: " + std::to_string(count) + " steps";
    event["cat"] = record.kind == TraceKind::kDevice ? "device" : "capture";
    Json nodes = Json::array();
    for (const Step* step = &head; step != &head + count; ++step)
      nodes.push_back(steps_.at(step).name);
    event["args"] = {{"device", head.device}, {"provider", head.provider}, {"nodes", nodes}};
  }

  static void describe_call(const Step& step, const std::string& name, const TracedCall& call,
                            Json& args) {
    args["op_type"] = step.op_type;
    args["device"] = step.device;
    args["provider"] = step.provider;
    if (!step.kernel_name.empty()) args["kernel"] = step.kernel_name;
    if (step.nodes.size() > 1) {
      const std::string prefix = name.substr(0, name.size() - step.node.size());
      for (const Node* node : step.nodes) args["nodes"].push_back(prefix + node->name);
    }
    if (step.kind == StepKind::kCopy && call.inputs[0])
      args["bytes"] = bytes_of(call.inputs[0]->dtype, element_count(call.inputs[0]->shape));
    args["inputs"] = texts_of(call.inputs);
    args["outputs"] = texts_of(call.outputs);
  }

  const std::filesystem::path& file_;
  std::ofstream stream_;
  const Trace& trace_;
  std::vector<TraceTrack> tracks_;
  std::map<std::string, int> processes_;  // of devices
  std::unordered_map<const void*, Named> steps_;
  bool is_first_ = true;
};

struct TraceFiles {
  static constexpr ProcessState kState = ProcessState::kTraceFiles;

  Mutex mutex;
  std::map<std::string, int> sessions GANTRY_GUARDED_BY(mutex);  // by file
};

}  // namespace

void write_trace_file(const std::filesystem::path& file, const Trace& trace,
                      std::span<const Program* const> programs, const std::string& model) {
  Writer(file, trace, programs).write(model);
}

std::filesystem::path claim_trace_file(const std::string& wanted) {
  TraceFiles& claimed = process_state<TraceFiles>();
  std::filesystem::path file = std::filesystem::absolute(wanted);
  {
    const MutexLock lock(claimed.mutex);
    if (const int number = ++claimed.sessions[file.string()]; number > 1) {
      const std::string ending = file.extension().string();
      file.replace_extension(std::to_string(number) + ending);
    }
  }
  if (!std::ofstream(file, std::ios::binary | std::ios::app)) {
    throw Error(Code::kUnavailable, "session.profile: " + file.string() + " cannot be written (" +
                                        std::generic_category().message(errno) +
                                        "); expected a file in a folder that is there");
  }
  return file;
}

}  // namespace gantry
