// SPDX-License-Identifier: Apache-2.0
// A program in the place of gantry-worker whose answers are wrong in a way that the provider's
// options name: what a process may say when a provider has written over everything in it.
#include <algorithm>
#include <string>
#include <unistd.h>

#include "plugin/isolation/graph_message.h"
#include "plugin/isolation/message_channel.h"
#include "plugin/isolation/shared_arena.h"
#include "plugin/isolation/worker_messages.h"

namespace gantry {
namespace {

class HostileWorker {
 public:
  [[nodiscard]] bool is_over() const { return is_over_; }
  // False: nothing is to be answered any more.
  bool answer(const ReceivedMessage& message, MessageWriter& out) {
    MessageReader reader(message.bytes);
    out.put<uint32_t>(0);
    switch (reader.get<WorkerCall>()) {
      case WorkerCall::kOpen:
        open(reader, out);
        break;
      case WorkerCall::kClaim:
        claim(out);
        break;
      case WorkerCall::kCompile:
        WorkerKernel{{mode_ == "input_slot" ? 7U : 0U}, {mode_ == "output_slot" ? 7U : 0U}, {}}
            .write(out);
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

 private:
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
    if (mode_ == "claim_slots") set.input_flags.resize(9);
    claims.sets.push_back(set);
    claims.write(out);
  }

  bool run(MessageReader& reader, MessageWriter& out) const {
    const auto head = reader.get<WorkerRun>();
    if (mode_ == "silent_end") return false;
    if (mode_ == "unknown_code") {
      out.clear();
      out.put<uint32_t>(4711);
      out.put<uint8_t>(0);
      out.text("what is this");
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
    if (mode_ == "beyond_arena") offset = SharedArena::kSizeBytes - 4;
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
  const auto channel = gantry::MessageChannel::of(std::move(boot->descriptors));
  gantry::ReceivedMessage message;
  while (gantry::receive_message(channel, message) == gantry::Receipt::kMessage) {
    gantry::MessageWriter out;
    // At once: the end of a process that is checked for leaks takes long enough to be ended itself.
    if (!worker.answer(message, out)) _exit(5);
    if (!gantry::send_message(channel, out.bytes(), {}) || worker.is_over()) break;
  }
  return 0;
}
