// SPDX-License-Identifier: Apache-2.0
// Two ways between two processes of this machine, for one call at a time. Short messages without
// descriptors go through pipes: behind a kernel that has emptied the caches, a message through a
// pipe takes 3 us less each way than one through a socket, whose code touches far more memory. All
// others go by a socket, announced in the pipe. Each function may be called by one thread at a time
// for each channel.
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
  /// The reading end of `out`, so that a write after the other side has ended is no signal.
  Descriptor guard;
  Descriptor socket;

  /// For a message to the process that is to have it; they stay this channel's.
  [[nodiscard]] std::vector<int> numbers() const;
  /// What came with such a message. INTERNAL: these are not so many.
  static MessageChannel of(std::vector<Descriptor> descriptors);
};

/// The end of who asks, which waits no longer than it wants, and that of who answers.
/// OUT_OF_MEMORY: there is no descriptor.
std::pair<MessageChannel, MessageChannel> make_message_channels();

/// `call`: a number that the answer repeats. False: the other end is gone, or has not read what was
/// sent before. OUT_OF_MEMORY: no memory for a large message. A message may also vanish with the
/// other end: receive_message tells.
bool send_message(const MessageChannel& channel, uint64_t call, std::span<const std::byte> bytes,
                  std::span<const int> descriptors);

/// True: the other end has not read what was sent to it.
bool is_unread(const MessageChannel& channel);

/// kNotYet: nothing came within `timeout`, or a signal did. kEnded: the other end is gone.
/// kMalformed: what came is no message, or one of more than `most_bytes`. At the end of who answers
/// it waits until one of these is known.
Receipt receive_message(const MessageChannel& channel, ReceivedMessage& message,
                        std::chrono::milliseconds timeout = {},
                        uint64_t most_bytes = kMostMessageBytes);

}  // namespace gantry
