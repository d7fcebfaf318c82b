// SPDX-License-Identifier: Apache-2.0
// A program in the place of gantry-worker whose answers are wrong in a way that the provider's
// options name: what a process may say when a provider has written over everything in it. A mode
// with the name of a call behind a point, "twice.run", is for the answers to that call alone.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <string>
#include <unistd.h>

#include "plugin/isolation/graph_message.h"
#include "plugin/isolation/message_channel.h"
#include "plugin/isolation/shared_arena.h"
#include "plugin/isolation/worker_messages.h"
#include "support/hostile_transport.h"

namespace gantry {
namespace {

class HostileWorker {
 public:
  [[nodiscard]] bool is_over() const { return is_over_; }
  // False: nothing is to be answered any more.
  bool serve(const ReceivedMessage& message, MessageChannel& channel) {
    MessageReader reader(message.bytes);
    const auto call = reader.get<WorkerCall>();
    MessageWriter out;
    // At once: the end of a process that is checked for leaks takes long enough to be ended itself.
    if (!answer(call, reader, out)) _exit(5);
    const size_t point = mode_.find('.');
    const bool is_meant = point != std::string::npos && mode_.substr(point + 1) == to_string(call);
    const std::string how = is_meant ? mode_.substr(0, point) : "";
    if (how == "exits") _exit(6);
    if (how == "ends_itself") std::raise(SIGKILL);
    if (how == "stops") std::raise(SIGSTOP);
    if (how == "is_silent") return true;
    if (how == "more_bytes") out.put<uint64_t>(0);
    return test::misdeliver(how, channel, message.call, out.bytes());
  }

 private:
  bool answer(WorkerCall call, MessageReader& reader, MessageWriter& out) {
    out.put<uint32_t>(0);
    switch (call) {
      case WorkerCall::kOpen:
        open(reader, out);
        break;
      case WorkerCall::kClaim:
        claim(out);
        break;
      case WorkerCall::kCompile:
        compile().write(out);
        break;
      case WorkerCall::kRun:
        return run(reader, out);
      case WorkerCall::kQuit:
        is_over_ = true;
        break;
      default:
        break;
    }
    return true;
  }

  void open(MessageReader& reader, MessageWriter& out) {
    mode_ = WorkerOpen::read(reader).options;
    mode_ = mode_.substr(mode_.rfind(':') + 2);
    mode_ = mode_.substr(0, mode_.find('"'));
    if (mode_ == "device_count") {
      out.put<uint64_t>(uint64_t{1} << 60);
      return;
    }
    WorkerOpened opened;
    opened.devices.push_back({"FAKE", "", "", "", 0, 0, 0});
    opened.write(out);
  }

  void claim(MessageWriter& out) const {
    WorkerClaims claims;
    if (mode_ == "long_claim") claims.refusals.push_back({0, std::string(uint64_t{65} << 20, 'x')});
    WorkerClaims::Set set;
    set.nodes = {0};
    set.input_flags = {0};
    set.output_count = 1;
    if (mode_ == "claim_node") set.nodes = {99};
    if (mode_ == "claim_nothing") set.nodes = {};
    if (mode_ == "claim_twice") set.nodes = {0, 0};
    if (mode_ == "claim_slots") set.input_flags.resize(9);
    if (mode_ == "claim_outputs") set.output_count = UINT32_MAX;
    if (mode_ == "refuse_node") claims.refusals.push_back({99, "no such node"});
    if (mode_ == "claim_time") set.time_ns = std::nan("");
    if (mode_ == "claim_numbers") {
      set.input_flags = {UINT32_MAX};
      set.workspace_bytes = UINT64_MAX;
      set.kernel = "\xFF\xFE no text";
    }
    claims.sets.push_back(set);
    claims.write(out);
  }

  [[nodiscard]] WorkerKernel compile() const {
    WorkerKernel kernel{{0}, {0}, {}};
    if (mode_ == "input_slot") kernel.inputs = {7};
    if (mode_ == "output_slot") kernel.outputs = {7};
    if (mode_ == "input_twice") kernel.inputs = {0, 0};
    if (mode_ == "output_twice") kernel.outputs = {0, 0};
    return kernel;
  }

  bool run(MessageReader& reader, MessageWriter& out) const {
    const auto head = reader.get<WorkerRun>();
    if (mode_ == "silent_end") return false;
    if (mode_ == "unknown_code" || mode_ == "long_text") {
      out.clear();
      out.put<uint32_t>(mode_ == "long_text" ? 1 : 4711);
      out.put<uint8_t>(0);
      out.put<uint64_t>(UINT64_MAX);
      return true;
    }
    if (mode_ == "no_text") {
      out.clear();
      out.put(static_cast<uint32_t>(Code::kDeviceError));
      out.put<uint8_t>(0);
      out.text("\xFF\xC0 no text");
      return true;
    }
    if (mode_ == "empty_answer") {
      out.clear();
      return true;
    }
    out.put<uint64_t>(mode_ == "output_count" ? 2 : 1);
    std::vector<int64_t> shape = {600};
    uint32_t dtype = GANTRY_FLOAT;
    uint64_t offset = head.windows[0].offset;
    if (mode_ == "beyond_arena") offset = SharedArena::kMostBytes - 4;
    if (mode_ == "overflow") offset = UINT64_MAX - 8;
    if (mode_ == "others_memory") offset = head.stop_flag;
    if (mode_ == "end_of_window") offset += head.windows[0].size_bytes - 8;
    if (mode_ == "unaligned") offset += 2;
    if (mode_ == "huge_shape") shape = {int64_t{1} << 40};
    if (mode_ == "negative_shape") shape = {-600};
    if (mode_ == "dtype") dtype = GANTRY_DOUBLE;
    if (mode_ == "rank") shape = {600, 1};
    gantry_tensor tensor = {};
    tensor.dtype = dtype;
    tensor.rank = static_cast<uint32_t>(shape.size());
    tensor.shape = shape.data();
    write_tensor(out, tensor, {DataPlace::kArena, offset});
    return true;
  }

  std::string mode_;
  bool is_over_ = false;
};

}  // namespace
}  // namespace gantry

int main() {
  gantry::HostileWorker worker;
  auto boot = gantry::receive_message(3);
  if (!boot) return 1;
  auto channel = gantry::MessageChannel::of(std::move(boot->descriptors));
  gantry::ReceivedMessage message;
  while (gantry::receive_message(channel, message) == gantry::Receipt::kMessage) {
    if (!worker.serve(message, channel) || worker.is_over()) break;
  }
  return 0;
}
