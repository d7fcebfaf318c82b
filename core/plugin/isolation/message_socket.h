// SPDX-License-Identifier: Apache-2.0
// Messages with descriptors over a socket between two processes of this machine. Large ones lie in
// anonymous memory whose descriptor is sent. Each function may be called by one thread at a time
// for each socket.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"

namespace gantry {

/// Two connected ends that keep the bounds of messages. OUT_OF_MEMORY: there is no descriptor.
std::pair<Descriptor, Descriptor> make_message_sockets();

/// Descriptors that one message can carry.
inline constexpr size_t kMostDescriptors = 200;

/// Of any message; what a receiver takes may be less.
inline constexpr uint64_t kMostMessageBytes = uint64_t{1} << 34;

/// False: the other end is gone, or has not read what was sent before: nothing waits for it.
/// OUT_OF_MEMORY: no memory for a large message.
bool send_message(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors);

struct ReceivedMessage {
  std::vector<std::byte> bytes;
  std::vector<Descriptor> descriptors;
  int core = -1;  ///< on which its sender was; what a worker process says of it is not checked
  /// Of a message through a channel: the number of the call that it asks for or answers.
  uint64_t call = 0;
  /// What is wrong with it if it is malformed: "of 3 bytes, which is shorter than its head".
  std::string fault;
};

/// Waits for the next message. Nothing: the other end is gone, or what came is none.
std::optional<ReceivedMessage> receive_message(int socket);

/// kMalformed: what came is no message, or has more bytes than are taken; its `fault` says which.
/// The channel is of no use any more.
enum class Receipt { kMessage, kNotYet, kEnded, kMalformed };

/// As above, but waits no longer than set_receive_timeout said, and not beyond a signal: kNotYet.
/// Memory is taken only for bytes that the other end holds itself: of an anonymous file that is not
/// all written, and of any other file, nothing is read (kMalformed).
Receipt receive_message(int socket, ReceivedMessage& message,
                        uint64_t most_bytes = kMostMessageBytes);

void set_receive_timeout(int socket, std::chrono::milliseconds timeout);

}  // namespace gantry
