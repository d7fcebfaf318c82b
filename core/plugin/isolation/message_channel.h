// SPDX-License-Identifier: Apache-2.0
// A channel between two processes of this machine, for one call at a time. Short messages without
// descriptors go through pipes: after a kernel that has evicted the caches, a message through a
// pipe takes 3 us less each way than one through a socket, whose code touches far more memory. All
// other messages go through a socket and are announced in the pipe. Each function may be called by
// one thread at a time for each channel.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "plugin/isolation/message_socket.h"

namespace gantry {

struct MessageChannel {
  Descriptor in;
  Descriptor out;
  /// The reading end of `out`, so that a write after the other side has ended raises no SIGPIPE.
  Descriptor guard;
  Descriptor socket;

  /// The descriptors, to send the channel to another process; they stay owned by this channel.
  [[nodiscard]] std::vector<int> numbers() const;
  /// Makes a channel of received descriptors. INTERNAL: their number is wrong.
  static MessageChannel of(std::vector<Descriptor> descriptors);
};

/// The two ends of a new channel: the client's, whose receives can time out, and the server's.
/// OUT_OF_MEMORY: no descriptor is left.
std::pair<MessageChannel, MessageChannel> make_message_channels();

/// Sends a message. `call`: a number that the answer repeats. False: the other end is closed, or
/// has not read the last message. OUT_OF_MEMORY: no memory for a large message. A message may also
/// be lost with the other end; receive_message reports that.
bool send_message(const MessageChannel& channel, uint64_t call, std::span<const std::byte> bytes,
                  std::span<const int> descriptors);

/// True: the other end has not read the last message.
bool is_unread(const MessageChannel& channel);

/// Receives a message. kNotYet: none came within `timeout`, or a signal interrupted the wait.
/// kEnded: the other end is closed. kMalformed: no valid message, or one of more than `most_bytes`.
/// The server's end waits without a timeout.
Receipt receive_message(const MessageChannel& channel, ReceivedMessage& message,
                        std::chrono::milliseconds timeout = {},
                        uint64_t most_bytes = kMostMessageBytes);

}  // namespace gantry
