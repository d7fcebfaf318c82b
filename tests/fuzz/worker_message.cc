// SPDX-License-Identifier: Apache-2.0
// Messages between gantry and its worker processes, in both directions. The first byte says which;
// the rest is the message, or what lies in the pipe and the socket that bring one.
#include <array>
#include <climits>
#include <cstdlib>
#include <memory>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "graph/graph.h"
#include "plugin/isolation/graph_message.h"
#include "plugin/isolation/message_channel.h"
#include "plugin/isolation/value_message.h"
#include "plugin/isolation/worker_messages.h"

namespace gantry {
namespace {

constexpr uint64_t kMostBytes = 1 << 16;

/// Memory for constants and values that lie elsewhere: any place of up to 64 KiB is there.
std::shared_ptr<const void> find_data(const DataPlace& place, uint64_t size_bytes) {
  static const auto memory = std::make_shared<std::array<std::byte, kMostBytes>>();
  if (size_bytes > kMostBytes || place.offset > kMostBytes - size_bytes)
    throw Error(Code::kInternal, "there is no such memory");
  return {memory, memory->data() + place.offset};
}

// A size, so many bytes in the pipe, the rest in the socket.
void receive(MessageReader& from) {
  const auto [reading, writing] = make_message_channels();
  const std::span<const std::byte> in_pipe = from.take(from.get<uint16_t>() % PIPE_BUF);
  const std::span<const std::byte> in_socket = from.take(from.left_bytes());
  if (write(writing.out.get(), in_pipe.data(), in_pipe.size()) < 0) return;
  if (!in_socket.empty() &&
      send(writing.socket.get(), in_socket.data(), in_socket.size(), MSG_DONTWAIT) < 0)
    return;
  ReceivedMessage message;
  const Receipt receipt = receive_message(reading, message, {}, kMostBytes);
  if ((receipt == Receipt::kMalformed) == message.fault.empty()) std::abort();
}

void read(uint8_t kind, MessageReader& from) {
  switch (kind) {
    case 0:
      (void)WorkerOpen::read(from);
      break;
    case 1:
      (void)WorkerOpened::read(from);
      break;
    case 2:
      (void)WorkerAsk::read(from);
      break;
    case 3:
      (void)WorkerClaims::read(from);
      break;
    case 4:
      (void)WorkerCompile::read(from);
      break;
    case 5:
      (void)WorkerKernel::read(from);
      break;
    case 6:
      (void)read_graph(from, find_data);
      break;
    case 8:
      receive(from);
      break;
    default:
      (void)read_value(from, find_data);
      break;
  }
}

}  // namespace
}  // namespace gantry

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  gantry::fuzz::run_or_refuse([&] {
    gantry::MessageReader from(gantry::fuzz::bytes_of(data + 1, size - 1));
    gantry::read(data[0] % 9, from);
  });
  return 0;
}
