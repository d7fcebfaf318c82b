// SPDX-License-Identifier: Apache-2.0
// Sends what no worker of ours sends: heads that lie, files that are not there, answers twice. The
// layouts are those of message_channel.cc and message_socket.cc.
#pragma once

#include <array>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "plugin/isolation/message_channel.h"

namespace gantry::test {

/// What is in front of a message in a pipe, and of one in a socket.
struct PipeHead {
  uint64_t call;
  uint32_t is_by_socket;
  int32_t core;
};
struct SocketHead {
  uint64_t size_bytes;
  uint32_t is_apart;
  int32_t core;
};

inline bool write_pipe(const MessageChannel& channel, const void* data, size_t size_bytes) {
  return ::write(channel.out.get(), data, size_bytes) == static_cast<ssize_t>(size_bytes);
}

/// Announces a message in the pipe and sends this in the socket, with these descriptors.
inline bool write_socket(const MessageChannel& channel, uint64_t call, const void* data,
                         size_t size_bytes, std::span<const int> descriptors) {
  iovec part = {const_cast<void*>(data), size_bytes};
  constexpr size_t kMost = 250;  // the kernel takes three more
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMost)> control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  if (sendmsg(channel.socket.get(), &message, MSG_NOSIGNAL) < 0) return false;
  const PipeHead head = {call, 1, 0};
  return write_pipe(channel, &head, sizeof(head));
}

/// A message whose bytes are said to be those of `file`.
inline bool write_file(const MessageChannel& channel, uint64_t call, uint64_t size_bytes,
                       int file) {
  const SocketHead head = {size_bytes, 1, 0};
  return write_socket(channel, call, &head, sizeof(head),
                      file < 0 ? std::span<const int>() : std::span<const int>(&file, 1));
}

/// Sends `answer` to `call` in the way that `mode` names; by the rules where it names none.
inline bool misdeliver(const std::string& mode, MessageChannel& channel, uint64_t call,
                       const std::vector<std::byte>& answer) {
  constexpr uint64_t kAnnounced = uint64_t{1} << 30;
  const Descriptor memory(memfd_create("hostile", MFD_CLOEXEC));
  if (mode == "short_head") return write_pipe(channel, "abc", 3);
  if (mode == "announces_alone") {
    const PipeHead head = {call, 1, 0};
    return write_pipe(channel, &head, sizeof(head));
  }
  if (mode == "short_socket_head") return write_socket(channel, call, "abcde", 5, {});
  if (mode == "inline_length") {
    const SocketHead head = {77, 0, 0};
    return write_socket(channel, call, &head, sizeof(head), {});
  }
  if (mode == "no_file") return write_file(channel, call, 1 << 20, -1);
  if (mode == "sparse_file") {
    return ftruncate(memory.get(), kAnnounced) == 0 &&
           write_file(channel, call, kAnnounced, memory.get());
  }
  if (mode == "short_file") {
    return ::write(memory.get(), "abc", 3) == 3 && write_file(channel, call, 1 << 20, memory.get());
  }
  if (mode == "device_file") {
    const Descriptor zero(open("/dev/zero", O_RDONLY | O_CLOEXEC));
    return write_file(channel, call, 1 << 20, zero.get());
  }
  if (mode == "descriptors") {  // with an answer that is good
    std::vector<std::byte> bytes(sizeof(SocketHead));
    const SocketHead head = {answer.size(), 0, 0};
    std::memcpy(bytes.data(), &head, sizeof(head));
    bytes.insert(bytes.end(), answer.begin(), answer.end());
    return write_socket(channel, call, bytes.data(), bytes.size(),
                        std::vector<int>(kMostDescriptors, memory.get()));
  }
  if (mode == "closes_answers") {
    channel.out.reset();
    channel.socket.reset();
    for (;;) pause();
  }
  const bool is_sent = send_message(channel, mode == "other_number" ? call + 1 : call, answer, {});
  return is_sent && (mode != "twice" || send_message(channel, call, answer, {}));
}

}  // namespace gantry::test
