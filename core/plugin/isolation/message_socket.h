// SPDX-License-Identifier: Apache-2.0
// Messages with file descriptors over a Unix socket between two processes of this machine. A large
// message is written to an anonymous file (memfd) whose descriptor is sent. Each function may be
// called by one thread at a time for each socket.
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

/// Two connected ends that preserve message boundaries. OUT_OF_MEMORY: no descriptor is left.
std::pair<Descriptor, Descriptor> make_message_sockets();

/// Descriptors that one message can carry.
inline constexpr size_t kMostDescriptors = 200;

/// Largest message; a receiver may accept less.
inline constexpr uint64_t kMostMessageBytes = uint64_t{1} << 34;

/// Sends a message without waiting. False: the other end is closed, or has not read the messages
/// sent before. OUT_OF_MEMORY: no memory for a large message.
bool send_message(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors);

struct ReceivedMessage {
  std::vector<std::byte> bytes;
  std::vector<Descriptor> descriptors;
  int core = -1;  ///< CPU of the sender; as sent by a worker process, not checked
  /// Of a message through a channel: the number of its call.
  uint64_t call = 0;
  /// Of a malformed message, what is wrong: "of 3 bytes, which is shorter than its head".
  std::string fault;
};

/// Waits for the next message. Nothing: the other end is closed, or the message is malformed.
std::optional<ReceivedMessage> receive_message(int socket);

/// kMalformed: no valid message, or one that is too large; `fault` says which. The channel cannot
/// be used any more.
enum class Receipt { kMessage, kNotYet, kEnded, kMalformed };

/// As above, but waits no longer than set_receive_timeout() and not beyond a signal: kNotYet.
/// Allocates only as much as the sender has really written: a sparse anonymous file, or a file of
/// another kind, is not read (kMalformed).
Receipt receive_message(int socket, ReceivedMessage& message,
                        uint64_t most_bytes = kMostMessageBytes);

void set_receive_timeout(int socket, std::chrono::milliseconds timeout);

}  // namespace gantry
