// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/message_channel.h"

#include <gantry/error.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/uio.h>

namespace gantry {
namespace {

constexpr size_t kDescriptors = 4;

// Precedes every message in a pipe.
struct PipeHead {
  uint64_t call;
  uint32_t is_by_socket;
  int32_t core;  // CPU of the sending thread
};

// A packet of a pipe in packet mode (O_DIRECT), which one read receives.
struct Packet {
  PipeHead head;
  std::array<std::byte, PIPE_BUF - sizeof(PipeHead)> bytes;
};
static_assert(sizeof(Packet) == PIPE_BUF);

struct Pipe {
  Descriptor reading;
  Descriptor writing;
};

// Writes do not block: the pipe has room for one call's message, unless the reader has stopped.
Pipe make_pipe() {
  std::array<int, 2> ends = {-1, -1};
  const bool is_made = pipe2(ends.data(), O_DIRECT | O_CLOEXEC) == 0;
  Pipe pipe = {Descriptor(ends[0]), Descriptor(ends[1])};
  if (!is_made || fcntl(ends[1], F_SETFL, O_DIRECT | O_NONBLOCK) != 0) {
    throw Error(Code::kOutOfMemory,
                std::string("no pipe for a worker process: ") + std::strerror(errno));
  }
  return pipe;
}

Descriptor another(const Descriptor& descriptor) {
  Descriptor copy(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) {
    throw Error(Code::kOutOfMemory,
                std::string("no descriptor for a worker process: ") + std::strerror(errno));
  }
  return copy;
}

bool write_packet(int pipe, PipeHead head, std::span<const std::byte> bytes) {
  const std::array<iovec, 2> parts = {iovec{&head, sizeof(head)},
                                      iovec{const_cast<std::byte*>(bytes.data()), bytes.size()}};
  ssize_t wrote = -1;
  do {
    wrote = writev(pipe, parts.data(), parts.size());
  } while (wrote < 0 && errno == EINTR);
  return wrote >= 0;
}

// Size of the packet; 0: the writing end is closed; negative, with errno: none came.
ssize_t read_packet(int pipe, Packet& packet, std::chrono::milliseconds timeout) {
  const ssize_t size = read(pipe, &packet, sizeof(packet));
  if (size >= 0 || errno != EAGAIN) return size;
  pollfd wait = {pipe, POLLIN, 0};
  if (poll(&wait, 1, static_cast<int>(timeout.count())) > 0)
    return read(pipe, &packet, sizeof(packet));
  errno = EAGAIN;
  return -1;
}

}  // namespace

std::vector<int> MessageChannel::numbers() const {
  return {in.get(), out.get(), guard.get(), socket.get()};
}

MessageChannel MessageChannel::of(std::vector<Descriptor> descriptors) {
  if (descriptors.size() != kDescriptors) {
    throw Error(Code::kInternal, "expected the " + std::to_string(kDescriptors) +
                                     " descriptors of a channel, found " +
                                     std::to_string(descriptors.size()));
  }
  return {std::move(descriptors[0]), std::move(descriptors[1]), std::move(descriptors[2]),
          std::move(descriptors[3])};
}

std::pair<MessageChannel, MessageChannel> make_message_channels() {
  Pipe requests = make_pipe();
  Pipe answers = make_pipe();
  auto [asking_socket, answering_socket] = make_message_sockets();
  Descriptor asking_guard = another(requests.reading);
  Descriptor answering_guard = another(answers.reading);
  if (fcntl(answers.reading.get(), F_SETFL, O_DIRECT | O_NONBLOCK) != 0) {
    throw Error(Code::kOutOfMemory,
                std::string("no pipe for a worker process: ") + std::strerror(errno));
  }
  // An announced message is in the socket already, so the receiver does not wait for a missing one.
  set_receive_timeout(asking_socket.get(), std::chrono::milliseconds(1));
  return {MessageChannel{std::move(answers.reading), std::move(requests.writing),
                         std::move(asking_guard), std::move(asking_socket)},
          MessageChannel{std::move(requests.reading), std::move(answers.writing),
                         std::move(answering_guard), std::move(answering_socket)}};
}

bool send_message(const MessageChannel& channel, uint64_t call, std::span<const std::byte> bytes,
                  std::span<const int> descriptors) {
  const bool is_by_socket = !descriptors.empty() || bytes.size() > PIPE_BUF - sizeof(PipeHead);
  const PipeHead head = {call, is_by_socket ? 1U : 0U, sched_getcpu()};
  if (!is_by_socket) return write_packet(channel.out.get(), head, bytes);
  return send_message(channel.socket.get(), bytes, descriptors) &&
         write_packet(channel.out.get(), head, {});
}

bool is_unread(const MessageChannel& channel) {
  int bytes = 0;
  return ioctl(channel.guard.get(), FIONREAD, &bytes) == 0 && bytes > 0;
}

Receipt receive_message(const MessageChannel& channel, ReceivedMessage& message,
                        std::chrono::milliseconds timeout, uint64_t most_bytes) {
  Packet packet;  // not initialised: the read fills the part that is used
  const ssize_t size = read_packet(channel.in.get(), packet, timeout);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Receipt::kNotYet;
  if (size <= 0) return Receipt::kEnded;
  if (size < static_cast<ssize_t>(sizeof(PipeHead))) {
    message.fault = "of " + std::to_string(size) + " bytes, which is shorter than its head";
    return Receipt::kMalformed;
  }
  message.call = packet.head.call;
  if (packet.head.is_by_socket != 0) {
    const Receipt receipt = receive_message(channel.socket.get(), message, most_bytes);
    if (receipt == Receipt::kMessage || receipt == Receipt::kMalformed) return receipt;
    message.fault = "that it announced and did not send";
    return Receipt::kMalformed;
  }
  message.descriptors.clear();
  message.core = packet.head.core;
  message.bytes.assign(packet.bytes.data(), packet.bytes.data() + size - sizeof(PipeHead));
  return Receipt::kMessage;
}

}  // namespace gantry
