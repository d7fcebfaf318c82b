// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/message_socket.h"

#include <gantry/error.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>

namespace gantry {
namespace {

// Buffer on the receiver's stack; a socket accepts far larger messages.
constexpr size_t kMostInline = 16 * 1024;

// Precedes every message. With `is_apart` the bytes are in the file of the last descriptor.
struct Head {
  uint64_t size_bytes;
  uint32_t is_apart;
  int32_t core;  // CPU of the sending thread
};

Descriptor memory_of(std::span<const std::byte> bytes) {
  Descriptor file(memfd_create("gantry-message", MFD_CLOEXEC));
  for (size_t done = 0; file.get() >= 0 && done < bytes.size();) {
    const ssize_t wrote = write(file.get(), bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      file.reset();
      break;
    }
    done += static_cast<size_t>(wrote);
  }
  if (file.get() < 0) {
    throw Error(Code::kOutOfMemory, "no memory for a message of " + std::to_string(bytes.size()) +
                                        " bytes to a worker process");
  }
  return file;
}

std::string bytes_text(uint64_t size_bytes) { return std::to_string(size_bytes) + " bytes"; }

// Why the file must not be read; empty: it is anonymous memory with so many bytes written. Other
// files may be slow to read, and a sparse file would cost its sender nothing.
std::string lacks(int file, uint64_t size_bytes) {
  constexpr uint64_t kBlock = 512;  // unit of st_blocks
  struct stat status = {};
  if (fcntl(file, F_GET_SEALS) < 0 || fstat(file, &status) != 0)
    return "in a file that is no anonymous memory";
  if (static_cast<uint64_t>(status.st_size) < size_bytes)
    return "in memory that has " + bytes_text(static_cast<uint64_t>(status.st_size));
  if (static_cast<uint64_t>(status.st_blocks) >= size_bytes / kBlock) return {};
  return "in memory of which " + bytes_text(static_cast<uint64_t>(status.st_blocks) * kBlock) +
         " are there";
}

// Reads in pieces: the sender may truncate the file meanwhile, so memory is allocated step by step.
bool read_all(int file, uint64_t size_bytes, std::vector<std::byte>& bytes) {
  constexpr uint64_t kPiece = 16 << 20;
  bytes.clear();
  for (uint64_t done = 0; done < size_bytes;) {
    bytes.resize(std::min(size_bytes, done + kPiece));
    const ssize_t got =
        pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

union ControlBuffer {
  cmsghdr align;
  std::array<char, CMSG_SPACE(sizeof(int) * (kMostDescriptors + 1))> bytes;
};

std::vector<Descriptor> descriptors_of(msghdr& message) {
  std::vector<Descriptor> descriptors;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      descriptors.emplace_back(number);
    }
  }
  return descriptors;
}

}  // namespace

std::pair<Descriptor, Descriptor> make_message_sockets() {
  std::array<int, 2> ends = {};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error(Code::kOutOfMemory,
                std::string("no socket for a worker process: ") + std::strerror(errno));
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

bool send_message(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors) {
  if (descriptors.size() > kMostDescriptors) {
    throw Error(Code::kUnsupported, "a message to a worker process carries at most " +
                                        std::to_string(kMostDescriptors) +
                                        " descriptors, this one has " +
                                        std::to_string(descriptors.size()));
  }
  std::vector<int> all(descriptors.begin(), descriptors.end());
  Head head = {bytes.size(), bytes.size() > kMostInline ? 1U : 0U, sched_getcpu()};
  Descriptor apart;
  if (head.is_apart) {
    apart = memory_of(bytes);
    all.push_back(apart.get());
  }
  std::array<iovec, 2> parts = {iovec{&head, sizeof(head)},
                                iovec{const_cast<std::byte*>(bytes.data()), bytes.size()}};
  msghdr message = {};
  message.msg_iov = parts.data();
  message.msg_iovlen = head.is_apart ? 1 : 2;
  ControlBuffer control = {};
  if (!all.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * all.size());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * all.size());
    std::memcpy(CMSG_DATA(rights), all.data(), sizeof(int) * all.size());
  }
  ssize_t sent = -1;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

std::optional<ReceivedMessage> receive_message(int socket) {
  ReceivedMessage message;
  Receipt receipt = Receipt::kNotYet;
  while (receipt == Receipt::kNotYet) receipt = receive_message(socket, message);
  if (receipt != Receipt::kMessage) return {};
  return message;
}

namespace {

Receipt malformed(ReceivedMessage& received, std::string fault) {
  received.fault = std::move(fault);
  return Receipt::kMalformed;
}

}  // namespace

Receipt receive_message(int socket, ReceivedMessage& received, uint64_t most_bytes) {
  std::array<std::byte, kMostInline> buffer;
  Head head = {};
  std::array<iovec, 2> parts = {iovec{&head, sizeof(head)}, iovec{buffer.data(), kMostInline}};
  ControlBuffer control;
  msghdr message = {};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Receipt::kNotYet;
  if (got <= 0) return Receipt::kEnded;
  received.descriptors = descriptors_of(message);
  const auto size = static_cast<uint64_t>(got);
  if (size < sizeof(head))
    return malformed(received, "of " + bytes_text(size) + ", which is shorter than its head");
  if (head.size_bytes > most_bytes) {
    return malformed(received, "of more than " + bytes_text(most_bytes) +
                                   ", the most that is taken for this call");
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    return malformed(received,
                     "whose descriptors could not all be taken; this process may have no more");
  }
  received.core = head.core;
  if (!head.is_apart) {
    if (head.size_bytes != size - sizeof(head)) {
      return malformed(received, "that says it has " + bytes_text(head.size_bytes) + " and has " +
                                     std::to_string(size - sizeof(head)));
    }
    received.bytes.assign(buffer.data(), buffer.data() + head.size_bytes);
    return Receipt::kMessage;
  }
  if (received.descriptors.empty()) {
    return malformed(received, "of " + bytes_text(head.size_bytes) +
                                   " in memory whose descriptor did not come with it");
  }
  const int file = received.descriptors.back().get();
  std::string lack = lacks(file, head.size_bytes);
  if (lack.empty() && !read_all(file, head.size_bytes, received.bytes))
    lack = "in memory that was shortened while it was read";
  if (!lack.empty()) return malformed(received, "of " + bytes_text(head.size_bytes) + " " + lack);
  received.descriptors.pop_back();
  return Receipt::kMessage;
}

void set_receive_timeout(int socket, std::chrono::milliseconds timeout) {
  const timeval limit = {timeout.count() / 1000, timeout.count() % 1000 * 1000};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

}  // namespace gantry
