// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/message_channel.h"

#include <array>
#include <chrono>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "support/expect_error.h"
#include "support/hostile_transport.h"

namespace gantry {
namespace {

using std::chrono::milliseconds;

std::vector<std::byte> bytes_of_size(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + size);
  return bytes;
}

class MessageChannelTest : public testing::Test {
 protected:
  static Receipt receive(const MessageChannel& at, std::vector<std::byte>& bytes) {
    ReceivedMessage message;
    const Receipt receipt = receive_message(at, message, milliseconds(2000));
    bytes = message.bytes;
    return receipt;
  }
  Receipt receive_answer() {
    std::vector<std::byte> bytes;
    return receive(ends_.first, bytes);
  }

  std::pair<MessageChannel, MessageChannel> ends_ = make_message_channels();
};

// Below, at and above what goes through the pipe, what a socket takes at once, and what a file has.
TEST_F(MessageChannelTest, CarriesMessagesOfEverySizeInTheirOrder) {
  constexpr size_t kMost = PIPE_BUF - 16;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{300}, kMost, kMost + 1, size_t{100000}}) {
    for (const auto& [from, to] :
         {std::pair(&ends_.first, &ends_.second), std::pair(&ends_.second, &ends_.first)}) {
      ASSERT_TRUE(send_message(*from, 1, bytes_of_size(size), {}));
      ASSERT_TRUE(send_message(*from, 1, bytes_of_size(size + 1), {}));
      for (const size_t expected : {size, size + 1}) {
        std::vector<std::byte> bytes;
        ASSERT_EQ(receive(*to, bytes), Receipt::kMessage) << size;
        EXPECT_EQ(bytes, bytes_of_size(expected));
      }
    }
  }
}

TEST_F(MessageChannelTest, CarriesDescriptorsAndTheSendersCore) {
  const std::array<int, 1> sent = {ends_.first.socket.get()};
  ASSERT_TRUE(send_message(ends_.first, 1, bytes_of_size(3), sent));
  ReceivedMessage message;
  ASSERT_EQ(receive_message(ends_.second, message), Receipt::kMessage);
  ASSERT_EQ(message.descriptors.size(), 1U);
  struct stat one = {};
  struct stat other = {};
  ASSERT_EQ(fstat(sent[0], &one), 0);
  ASSERT_EQ(fstat(message.descriptors[0].get(), &other), 0);
  EXPECT_EQ(one.st_ino, other.st_ino);
  ASSERT_TRUE(send_message(ends_.first, 1, {}, {}));
  message.core = -1;
  ASSERT_EQ(receive_message(ends_.second, message), Receipt::kMessage);
  EXPECT_GE(message.core, 0);
  EXPECT_TRUE(message.descriptors.empty());
}

TEST_F(MessageChannelTest, WhoAsksWaitsAsLongAsItWants) {
  ReceivedMessage message;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(receive_message(ends_.first, message, milliseconds(20)), Receipt::kNotYet);
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(20));
  std::thread answering([this] {
    std::this_thread::sleep_for(milliseconds(20));
    send_message(ends_.second, 1, bytes_of_size(5), {});
  });
  EXPECT_EQ(receive_message(ends_.first, message, milliseconds(20000)), Receipt::kMessage);
  answering.join();
}

TEST_F(MessageChannelTest, WhatWasSentBeforeTheEndIsReadBeforeIt) {
  ASSERT_TRUE(send_message(ends_.second, 1, bytes_of_size(5), {}));
  ends_.second = {};
  EXPECT_EQ(receive_answer(), Receipt::kMessage);
  EXPECT_EQ(receive_answer(), Receipt::kEnded);
  // No signal ends the process, whichever way the message takes.
  send_message(ends_.first, 1, bytes_of_size(5), {});
  EXPECT_FALSE(send_message(ends_.first, 1, bytes_of_size(5000), {}));
}

TEST_F(MessageChannelTest, WhoAnswersSeesTheEnd) {
  ends_.first = {};
  ReceivedMessage message;
  EXPECT_EQ(receive_message(ends_.second, message), Receipt::kEnded);
}

TEST_F(MessageChannelTest, DoesNotWaitForSomebodyWhoDoesNotRead) {
  int sent = 0;
  while (sent < 100000 && send_message(ends_.first, 1, bytes_of_size(5), {})) ++sent;
  EXPECT_GT(sent, 2);
  EXPECT_LT(sent, 100000);
}

TEST_F(MessageChannelTest, TakesNoMoreThanWasAllowed) {
  const std::vector<std::byte> bytes(100000, std::byte{7});
  ReceivedMessage message;
  ASSERT_TRUE(send_message(ends_.second, 1, bytes, {}));
  EXPECT_EQ(receive_message(ends_.first, message, milliseconds(2000), 99999), Receipt::kMalformed);
  ASSERT_TRUE(send_message(ends_.second, 1, bytes, {}));
  EXPECT_EQ(receive_message(ends_.first, message, milliseconds(2000), 100000), Receipt::kMessage);
  EXPECT_EQ(message.bytes, bytes);
}

// What a worker says of itself: heads that lie, files that are not what they are said to be.
TEST_F(MessageChannelTest, TakesNoMemoryForBytesThatTheOtherEndDoesNotHold) {
  constexpr uint64_t kAnnounced = uint64_t{1} << 30;
  const Descriptor sparse(memfd_create("sparse", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(sparse.get(), kAnnounced), 0);
  rusage before = {};
  getrusage(RUSAGE_SELF, &before);
  ReceivedMessage message;
  ASSERT_TRUE(test::write_file(ends_.second, 1, kAnnounced, sparse.get()));
  EXPECT_EQ(receive_message(ends_.first, message, milliseconds(2000)), Receipt::kMalformed);
  EXPECT_EQ(message.fault, "of 1073741824 bytes in memory of which 0 bytes are there");
  const Descriptor slow(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(test::write_file(ends_.second, 1, 1 << 20, slow.get()));
  EXPECT_EQ(receive_message(ends_.first, message, milliseconds(2000)), Receipt::kMalformed);
  EXPECT_EQ(message.fault, "of 1048576 bytes in a file that is no anonymous memory");
  rusage after = {};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10) << "KiB";
}

TEST_F(MessageChannelTest, SaysWhatIsWrongWithAMessage) {
  const test::PipeHead announced = {1, 1, 0};  // and never sent
  ASSERT_TRUE(test::write_pipe(ends_.second, &announced, sizeof(announced)));
  ReceivedMessage message;
  EXPECT_EQ(receive_message(ends_.first, message), Receipt::kMalformed);
  EXPECT_EQ(message.fault, "that it announced and did not send");
  ASSERT_TRUE(test::write_pipe(ends_.second, "abc", 3));
  EXPECT_EQ(receive_message(ends_.first, message), Receipt::kMalformed);
  EXPECT_EQ(message.fault, "of 3 bytes, which is shorter than its head");
  test::expect_error(Code::kInternal, {"4 descriptors of a channel", "found 0"},
                     [] { (void)MessageChannel::of({}); });
}

TEST_F(MessageChannelTest, CarriesTheNumberOfTheCall) {
  for (const size_t size : {10, 10000, 100000}) {
    const uint64_t call = (uint64_t{1} << 40) + size;
    ASSERT_TRUE(send_message(ends_.first, call, bytes_of_size(size), {}));
    EXPECT_TRUE(is_unread(ends_.first));
    ReceivedMessage message;
    ASSERT_EQ(receive_message(ends_.second, message), Receipt::kMessage);
    EXPECT_EQ(message.call, call);
    EXPECT_FALSE(is_unread(ends_.first));
  }
}

TEST_F(MessageChannelTest, TellsOfDescriptorsThatThisProcessHasNoRoomFor) {
  const std::array<int, 3> sent = {0, 0, 0};
  ASSERT_TRUE(send_message(ends_.first, 1, bytes_of_size(3), sent));
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const Descriptor next(fcntl(0, F_DUPFD_CLOEXEC, 0));
  const rlimit full = {static_cast<rlim_t>(next.get()) + 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &full), 0);
  ReceivedMessage message;
  const Receipt receipt = receive_message(ends_.second, message);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(receipt, Receipt::kMalformed);
  EXPECT_THAT(message.fault, testing::HasSubstr("could not all be taken"));
}

// Who reads what is announced and not what was sent: nobody waits for room.
TEST_F(MessageChannelTest, DoesNotWaitForSomebodyWhoReadsNoDescriptors) {
  const std::array<int, 1> descriptor = {ends_.first.socket.get()};
  int sent = 0;
  while (sent < 10000 && send_message(ends_.first, 1, bytes_of_size(3000), descriptor)) {
    std::array<char, PIPE_BUF> packet;
    ASSERT_GT(::read(ends_.second.in.get(), packet.data(), packet.size()), 0);
    ++sent;
  }
  EXPECT_GT(sent, 2);
  EXPECT_LT(sent, 10000);
}

}  // namespace
}  // namespace gantry
