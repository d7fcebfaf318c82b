// SPDX-License-Identifier: Apache-2.0
#include "worker/server.h"

#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/thread_pool.h"
#include "plugin/discovery/manifest.h"
#include "plugin/error.h"
#include "plugin/isolation/graph_message.h"
#include "plugin/isolation/message_channel.h"
#include "plugin/isolation/shared_arena.h"
#include "plugin/isolation/spin_wait.h"
#include "plugin/library.h"
#include "plugin/provider.h"
#include "worker/claims.h"
#include "worker/fragment.h"
#include "worker/output_memory.h"
#include "worker/sandbox.h"

namespace gantry {
namespace {

constexpr uint64_t kInlineOutputBytes = 1024;  // largest output that goes in the message
constexpr std::chrono::microseconds kSpinForRequest = ThreadTeam::kSpin;  // between two requests

// The body of a request, and its descriptors.
struct Request {
  MessageReader reader;
  std::vector<Descriptor>& descriptors;
};

class Server {
 public:
  /// Answers every request of a channel until the channel is closed.
  void serve(const MessageChannel& channel) noexcept {
    SpinWait spin;
    for (int core = -1; serve_one(channel, core);)
      spin.wait(channel.in.get(), kSpinForRequest, core);
  }

  /// Answers one request. `core`: CPU of the last sender. False: the channel is closed.
  bool serve_one(const MessageChannel& channel, int& core) noexcept {
    ReceivedMessage message;
    try {
      Receipt receipt = Receipt::kNotYet;
      while (receipt == Receipt::kNotYet) receipt = receive_message(channel, message);
      if (receipt != Receipt::kMessage) return false;
      core = message.core;
      return send_message(channel, message.call, answer(message).bytes(), {});
    } catch (...) {  // no memory for an answer: the channel is closed, so that nobody waits for it
      return false;
    }
  }

 private:
  MessageWriter answer(ReceivedMessage& message) {
    MessageWriter out;
    try {
      Request request{MessageReader(message.bytes), message.descriptors};
      const auto call = request.reader.get<WorkerCall>();
      out.put(static_cast<uint32_t>(Code::kOk));
      dispatch(call, request, out);
      return out;
    } catch (...) {
      gantry_error* error = error_of_current_exception();
      out.clear();
      out.put(static_cast<uint32_t>(code_of(error)));
      out.put<uint8_t>(DeviceHealth::any_blocked() ? 1 : 0);
      out.text(message_of(error));
      release_error(error);
    }
    return out;
  }

  void dispatch(WorkerCall call, Request& request, MessageWriter& out) {
    switch (call) {
      case WorkerCall::kOpen:
        return open(request, out);
      case WorkerCall::kClaim:
        return claim(request, out);
      case WorkerCall::kCompile:
        return compile(request, out);
      case WorkerCall::kRun:
        return run(request, out);
      case WorkerCall::kRelease:
        return release(request);
      case WorkerCall::kQuit:
        return quit();
      case WorkerCall::kOperators:
        return list_operators(request, out);
    }
    throw Error(Code::kInternal, "a worker process was asked for something it does not know");
  }

  void open(Request& request, MessageWriter& out) {
    const WorkerOpen open = WorkerOpen::read(request.reader);
    if (provider_ || request.descriptors.empty())
      throw Error(Code::kInternal, "a worker process opens one provider, and needs its memory");
    arena_ = std::make_unique<WorkerArena>(
        SharedMemory::map(std::move(request.descriptors.front()), SharedMemory::kWhole, true));
    WorkerOpened opened;
    const Manifest manifest = parse_manifest(open.manifest, open.manifest_file, false);
    if (open.is_sandboxed) opened.missing = enter_sandbox(open.library, manifest.device_files);
    limit_memory(open.memory_limit_bytes);
    stop_grace_ms_ = open.stop_grace_ms;
    PluginProvider::Origin origin;
    origin.library = open.library;
    origin.options = open.options;
    origin.entry = open_library(origin.library, FileIdentity::of(origin.library));
    provider_ = std::make_shared<PluginProvider>(manifest, origin, [](const char* /*stage*/) {});
    for (const PluginDevice& device : provider_->devices()) {
      const uint32_t state = device.is_ready()               ? GANTRY_DEVICE_READY
                             : device.info.state == "absent" ? GANTRY_DEVICE_ABSENT
                                                             : GANTRY_DEVICE_BLOCKED;
      opened.devices.push_back({device.info.device.type, device.info.name, device.info.uid,
                                device.info.reason, static_cast<uint32_t>(device.info.device.id),
                                state, device.info.memory_bytes});
    }
    opened.write(out);
  }

  static void limit_memory(uint64_t size_bytes) {
    if (size_bytes == 0) return;
    const rlimit limit = {size_bytes, size_bytes};
    setrlimit(RLIMIT_DATA, &limit);
  }

  Candidate candidate_of(const WorkerAsk& ask) const {
    if (!provider_ || ask.device >= provider_->devices().size())
      throw Error(Code::kInternal, "device " + std::to_string(ask.device) + " is not there");
    return {provider_, ask.device, provider_->devices()[ask.device].info.device, ask.options};
  }

  std::unique_ptr<Graph> graph_of(MessageReader& from) {
    return read_graph(from, [this](const DataPlace& place, uint64_t size_bytes) {
      const MutexLock lock(mutex_);
      const auto segment = segments_.find(place.where);
      const uint64_t there = segment == segments_.end() ? 0 : segment->second->size_bytes();
      if (size_bytes > there || place.offset > there - size_bytes)
        throw Error(Code::kInternal, "a constant lies outside of the shared memory");
      return std::shared_ptr<const void>(segment->second, segment->second->data() + place.offset);
    });
  }

  void take_segments(Request& request, const WorkerAsk& ask) {
    if (request.descriptors.size() < ask.segments.size())
      throw Error(Code::kInternal, "a message has fewer descriptors than it says");
    const MutexLock lock(mutex_);
    for (const uint64_t id : ask.dropped) segments_.erase(id);
    for (size_t i = 0; i < ask.segments.size(); ++i) {
      const WorkerAsk::Segment& segment = ask.segments[i];
      Descriptor& file = request.descriptors[i];
      segments_.try_emplace(segment.id,
                            segment.is_file != 0
                                ? SharedMemory::map_file(std::move(file), segment.size_bytes)
                                : SharedMemory::map(std::move(file), segment.size_bytes, false));
    }
  }

  void list_operators(Request& request, MessageWriter& out) const {
    if (!provider_) throw Error(Code::kInternal, "a worker process without a provider");
    out.text(provider_->operators_json(request.reader.text()));
  }

  void claim(Request& request, MessageWriter& out) {
    const WorkerAsk ask = WorkerAsk::read(request.reader);
    take_segments(request, ask);
    const CopyGraph copy = [&] {
      MessageReader from = request.reader;
      return graph_of(from);
    };
    answer_claims(copy, candidate_of(ask)).write(out);
  }

  void compile(Request& request, MessageWriter& out) {
    const WorkerCompile compile = WorkerCompile::read(request.reader);
    const WorkerAsk ask = WorkerAsk::read(request.reader);
    take_segments(request, ask);
    auto fragment = std::make_shared<WorkerFragment>(graph_of(request.reader), compile,
                                                     candidate_of(ask), stop_grace_ms_);
    fragment->slots().write(out);
    const MutexLock lock(mutex_);
    fragments_[compile.kernel] = std::move(fragment);
  }

  void run(Request& request, MessageWriter& out) {
    const auto head = request.reader.get<WorkerRun>();
    std::shared_ptr<WorkerFragment> fragment;
    {
      const MutexLock lock(mutex_);
      const auto found = fragments_.find(head.kernel);
      if (found == fragments_.end()) throw Error(Code::kInternal, "there is no such kernel");
      fragment = found->second;
    }
    const FindData find = [this](const DataPlace& place, uint64_t size_bytes) {
      return std::shared_ptr<const void>(arena_->memory(), arena_->open(place.offset, size_bytes));
    };
    const uint64_t count = request.reader.count(1);
    std::vector<ValueRef> inputs;
    for (uint64_t i = 0; i < count; ++i) inputs.push_back(read_value(request.reader, find));
    const auto* stop =
        reinterpret_cast<const std::atomic<bool>*>(arena_->open(head.stop_flag, sizeof(bool)));
    auto* mark = reinterpret_cast<std::atomic<uint64_t>*>(
        arena_->open(head.stop_flag + WorkerRun::kMark, sizeof(uint64_t)));
    OutputMemory memory(*arena_, head.windows);
    const MakeOutput make = [&](DType dtype, std::span<const int64_t> shape) {
      return memory.make(dtype, shape);
    };
    std::vector<ValueRef> outputs(fragment->slots().outputs.size());
    for (ValueRef& output : outputs) {
      if (request.reader.get<uint8_t>() != 0) output = read_value(request.reader, find);
    }
    fragment->run(inputs, outputs, *stop, *mark, make);
    out.put<uint64_t>(outputs.size());
    for (const ValueRef& output : outputs) write_output(out, *output, memory);
  }

  void write_output(MessageWriter& out, const gantry_value& value, OutputMemory& memory) const {
    const bool is_plain = value.kind == GANTRY_KIND_TENSOR && value.dtype != DType::kString;
    if (!is_plain) {
      write_value(out, value, [](const gantry_tensor&) { return DataPlace{}; });
      return;
    }
    DataPlace place{DataPlace::kArena, 0};
    if (value.view.size_bytes <= kInlineOutputBytes) {
      place = {};
    } else if (!arena_->find(value.view.data, place.offset)) {
      // Not in a window: a kernel set a value of its own, or one value is two outputs.
      const ValueRef copy = memory.make(value.dtype, value.shape);
      std::memcpy(copy->view.data, value.view.data, value.view.size_bytes);
      place.offset = static_cast<uint64_t>(static_cast<std::byte*>(copy->view.data) -
                                           arena_->memory()->data());
    }
    write_tensor(out, value.view, place);
  }

  void release(Request& request) {
    std::shared_ptr<WorkerFragment> fragment;
    const MutexLock lock(mutex_);
    const auto found = fragments_.find(request.reader.get<uint64_t>());
    if (found == fragments_.end()) return;
    fragment = std::move(found->second);
    fragments_.erase(found);
  }

  void quit() {
    const MutexLock lock(mutex_);
    fragments_.clear();
    provider_.reset();
  }

  std::unique_ptr<WorkerArena> arena_;
  std::shared_ptr<PluginProvider> provider_;
  uint64_t stop_grace_ms_ = 0;
  Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<SharedMemory>> segments_ GANTRY_GUARDED_BY(mutex_);
  std::map<uint64_t, std::shared_ptr<WorkerFragment>> fragments_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace

void serve_application(int boot) {
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);  // the application reports a crash; a core file is of no use
  // Never destroyed: threads of channels use it until the process ends.
  auto* const server = new Server;
  for (bool is_first = true;; is_first = false) {
    std::optional<ReceivedMessage> message = receive_message(boot);
    if (!message) return;
    auto channel = MessageChannel::of(std::move(message->descriptors));
    // In this thread, so that the sandbox holds for all later threads.
    int core = -1;
    if (is_first && !server->serve_one(channel, core)) return;
    std::thread([server, channel = std::move(channel)] { server->serve(channel); }).detach();
  }
}

}  // namespace gantry
