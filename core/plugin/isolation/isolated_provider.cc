// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/isolated_provider.h"

#include <utility>

#include "base/log.h"
#include "plugin/error.h"
#include "plugin/isolation/graph_message.h"

namespace gantry {
namespace {

IsolatedProvider& of(gantry_provider* self) { return *reinterpret_cast<IsolatedProvider*>(self); }

WorkerProcess::Patience within(int64_t timeout_ms) {
  WorkerProcess::Patience patience;
  patience.timeout_ms = timeout_ms;
  return patience;
}

// Reads an answer. Ends the process if the answer is malformed, as its memory may be corrupted.
void read_whole(WorkerProcess& process, const std::vector<std::byte>& answer,
                const IsolatedProvider::ReadAnswer& read) {
  std::string fault;
  try {
    MessageReader reader(answer);
    read(reader);
    if (reader.is_at_end()) return;
    fault = std::to_string(reader.left_bytes()) + " bytes more than it says";
  } catch (const Error& error) {
    if (error.code() == Code::kOutOfMemory) throw;
    fault = error.message();
  }
  process.end_for("it sent a malformed answer: " + fault, Code::kProviderCrashed);
}

MessageWriter head_of(WorkerCall call) {
  MessageWriter head;
  head.put(call);
  return head;
}

// Reports the sets of nodes of the worker's answer as claims.
void tell_claims(const WorkerClaims& claims, const gantry_claim_sink& sink) {
  for (const WorkerClaims::Set& set : claims.sets) {
    std::vector<gantry_port> inputs(set.input_flags.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].size = sizeof(gantry_port);
      inputs[i].flags = set.input_flags[i];
      inputs[i].repeats = GANTRY_NONE;
    }
    gantry_claim row = {};
    row.size = sizeof(row);
    row.flags = set.is_divisible ? GANTRY_CLAIM_DIVISIBLE : 0;
    row.nodes = set.nodes.data();
    row.node_count = static_cast<uint32_t>(set.nodes.size());
    row.port_size = sizeof(gantry_port);
    row.inputs = inputs.data();
    row.input_count = static_cast<uint32_t>(inputs.size());
    row.output_count = set.output_count;
    row.time_ns = set.time_ns;
    row.workspace_bytes = set.workspace_bytes;
    row.kernel = to_str(set.kernel);
    sink.claim(sink.self, &row);
  }
  for (const WorkerClaims::Refusal& refusal : claims.refusals)
    sink.refuse(sink.self, refusal.node, to_str(refusal.reason));
}

}  // namespace

IsolatedProvider::IsolatedProvider(Subject subject, IsolationSettings settings)
    : subject_(std::move(subject)),
      settings_(std::move(settings)),
      crash_counter_(subject_.open.library),
      arena_(SharedArena::create()),
      constants_(ConstantStore::create()) {
  subject_.open.memory_limit_bytes = settings_.memory_limit_bytes;
  // The worker gives up hung devices before this side ends the worker.
  subject_.open.stop_grace_ms = static_cast<uint64_t>(settings_.stop_grace_ms) / 2 + 1;
  subject_.open.is_sandboxed = settings_.is_sandboxed ? 1 : 0;
  start(stop_of_load());
}

IsolatedProvider::~IsolatedProvider() { close(); }

void IsolatedProvider::close() noexcept {
  // In a forked child the worker belongs to the parent.
  if (process_.is_elsewhere()) return;
  try {
    is_closing_ = true;
    BackgroundWork starting;
    {
      const MutexLock lock(mutex_);
      starting = starting_;
    }
    if (starting.valid()) starting.wait();
    const MutexLock lock(mutex_);
    if (!worker_.process) return;
    constexpr int64_t kToEndMs = 5000;
    if (!worker_.process->has_ended())
      worker_.process->call(head_of(WorkerCall::kQuit), {}, within(kToEndMs));
    worker_.process->finish(kToEndMs);
  } catch (const Error& error) {
    log(LogLevel::kInfo,
        "provider \"" + name() + "\": its process did not end in order: " + error.message());
  } catch (...) {  // no memory for a message: the destructor of the worker ends the process
  }
}

IsolatedProvider::Worker IsolatedProvider::worker(const StopQuestion& stop) {
  for (;;) {
    BackgroundWork starting;
    {
      const MutexLock lock(mutex_);
      if (is_open_ && worker_.process && !worker_.process->has_ended()) return worker_;
      if (is_over(starting_)) starting_ = start_background_work([this] { start({}); });
      starting = starting_;
    }
    wait_for(starting, stop, "provider \"" + name() + "\": the start of its process");
  }
}

// Starts a worker and opens the provider there, unless `stop` ends that. One call at a time.
void IsolatedProvider::start(const StopQuestion& stop) {
  if (const std::string reason = blocked(); !reason.empty())
    throw Error(Code::kUnavailable, "provider \"" + name() + "\" is in quarantine: " + reason);
  Worker fresh{WorkerProcess::start(name(), settings_), 0};
  {
    const MutexLock lock(mutex_);
    fresh.number = worker_.number + 1;
    worker_ = fresh;
    is_open_ = false;
  }
  MessageWriter request = head_of(WorkerCall::kOpen);
  subject_.open.write(request);
  WorkerProcess::Patience patience = within(settings_.start_timeout_ms);
  patience.should_stop = [this, &stop] {
    if (is_closing_) return Code::kCancelled;
    return stop ? stop() : Code::kOk;
  };
  try {
    WorkerOpened opened;
    call(fresh, "open", request, {arena_->memory().file()}, patience,
         [&](MessageReader& from) { opened = WorkerOpened::read(from); });
    // The first worker's answer stays valid; other threads read it from now on.
    if (fresh.number == 1) opened_ = std::move(opened);
  } catch (...) {
    // A worker that could not open the provider is not used for another call.
    fresh.process->finish(0);
    throw;
  }
  log(LogLevel::kInfo,
      "provider \"" + name() + "\" runs in process " + std::to_string(fresh.process->id()));
  const MutexLock lock(mutex_);
  is_open_ = true;
}

void IsolatedProvider::call(const Worker& worker, const std::string& what,
                            const MessageWriter& request, const std::vector<int>& descriptors,
                            const WorkerProcess::Patience& patience, const ReadAnswer& read) {
  try {
    read_whole(*worker.process, worker.process->call(request, descriptors, patience), read);
  } catch (const Error& error) {
    const bool is_end = dynamic_cast<const WorkerEnded*>(&error) != nullptr;
    if (!is_end && !worker.process->was_ended()) throw;
    // The caller ended the call, which the worker could not know.
    const bool is_callers = error.code() != Code::kProviderCrashed && !patience.stop_flag &&
                            patience.should_stop && patience.should_stop() != Code::kOk;
    note_end(*worker.process, !is_callers);
    const std::string reason = blocked();
    // A provider that could not be opened in its first worker is not used again.
    const bool is_first_open = worker.number == 1 && what == "open";
    const std::string then = !reason.empty() ? "; the provider is in quarantine now"
                             : is_first_open ? ""
                                             : "; the next call starts another";
    throw Error(error.code(),
                is_end ? "the process of provider \"" + name() + "\" " + error.message() +
                             " in its " + what + then
                       : "provider \"" + name() + "\", " + what + ": " + error.message() + then);
  }
}

// Counts the end of a worker once, however many calls it had.
void IsolatedProvider::note_end(const WorkerProcess& process, bool is_crash) {
  {
    const MutexLock lock(mutex_);
    if (worker_.process.get() != &process) return;
    worker_.process.reset();
  }
  const std::string how = process.how_it_ended();
  if (!is_crash) return log(LogLevel::kInfo, "provider \"" + name() + "\": its process " + how);
  crash_counter_.note(how);
  log(LogLevel::kWarning, "provider \"" + name() + "\": its process " + how +
                              (blocked().empty() ? "" : "; it is in quarantine now"));
}

void IsolatedProvider::ask(const Worker& worker, const std::string& what, MessageWriter head,
                           uint32_t device, const std::string& options, const MessageWriter& graph,
                           const ConstantStore::Segments& segments, const StopQuestion& stop,
                           const ReadAnswer& read) {
  WorkerAsk ask;
  ask.device = device;
  ask.options = options;
  ask.dropped = constants_->take_dropped();
  std::vector<int> descriptors;
  for (const auto& segment : segments) {
    if (worker.process->has_segment(segment->id)) continue;
    ask.segments.push_back({segment->id, segment->size_bytes(), segment->mapped ? 1U : 0U});
    descriptors.push_back(segment->file());
  }
  ask.write(head);
  head.append(graph.bytes().data(), graph.bytes().size());
  WorkerProcess::Patience patience = within(settings_.compile_timeout_ms);
  patience.should_stop = stop;
  // Sets of nodes, slots and names: a few bytes for each node.
  constexpr uint64_t kForEachByte = 16;
  patience.most_answer_bytes += kForEachByte * head.bytes().size();
  call(worker, what, head, descriptors, patience, read);
  worker.process->note_segments(ask.segments);
}

uint64_t IsolatedProvider::next_kernel() {
  const MutexLock lock(mutex_);
  return next_kernel_++;
}

void IsolatedProvider::report_devices(const gantry_device_sink& sink) const {
  for (const WorkerOpened::Device& device : opened_.devices) {
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.state = device.state;
    info.type = to_str(device.type);
    info.id = device.id;
    info.flags = GANTRY_DEVICE_HOST_MEMORY;
    info.uid = to_str(device.uid);
    info.name = to_str(device.name);
    info.reason = to_str(device.reason);
    info.memory_bytes = device.memory_bytes;
    sink.device(sink.self, &info);
  }
}

void IsolatedProvider::claim(const gantry_claim_request& request) {
  MessageWriter graph;
  ConstantStore::Batch batch(constants_);
  write_graph(graph, *request.graph, [&](const gantry_value& value) { return batch.place(value); });
  const ConstantStore::Segments segments = batch.finish();
  WorkerClaims claims;
  ask(worker(stop_of_load()), "claim", head_of(WorkerCall::kClaim), request.device,
      std::string(to_view(request.options)), graph, segments, stop_of_load(),
      [&](MessageReader& from) { claims = WorkerClaims::read(from); });
  tell_claims(claims, *request.sink);
}

std::string IsolatedProvider::operators_json(const std::string& options) {
  MessageWriter request = head_of(WorkerCall::kOperators);
  request.text(options);
  WorkerProcess::Patience patience = within(settings_.compile_timeout_ms);
  patience.should_stop = stop_of_load();
  constexpr uint64_t kMostBytes = 8 * 1024 * 1024;
  patience.most_answer_bytes += kMostBytes;
  std::string text;
  call(worker(patience.should_stop), "list of operators", request, {}, patience,
       [&](MessageReader& from) { text = from.text(); });
  return text;
}

gantry_provider_api IsolatedProvider::table() {
  gantry_provider_api api = {};
  api.size = sizeof(api);
  api.self = reinterpret_cast<gantry_provider*>(this);
  api.devices = [](gantry_provider* self, const gantry_device_sink* sink) {
    return guard([&] { of(self).report_devices(*sink); });
  };
  api.claim = [](gantry_provider* self, const gantry_claim_request* request) {
    return guard([&] { of(self).claim(*request); });
  };
  api.compile = [](gantry_provider* self, const gantry_compile* args, gantry_kernel* out) {
    return guard([&] { compile_isolated(of(self), *args, *out); });
  };
  // Closes only: the object's owner destroys it.
  api.destroy = [](gantry_provider* self) { of(self).close(); };
  return api;
}

}  // namespace gantry
