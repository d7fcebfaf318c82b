// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/message_channel.h"

#include <array>
#include <chrono>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "support/expect_error.h"

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
  constexpr size_t kMost = PIPE_BUF - 8;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{300}, kMost, kMost + 1, size_t{100000}}) {
    for (const auto& [from, to] :
         {std::pair(&ends_.first, &ends_.second), std::pair(&ends_.second, &ends_.first)}) {
      ASSERT_TRUE(send_message(*from, bytes_of_size(size), {}));
      ASSERT_TRUE(send_message(*from, bytes_of_size(size + 1), {}));
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
  ASSERT_TRUE(send_message(ends_.first, bytes_of_size(3), sent));
  ReceivedMessage message;
  ASSERT_EQ(receive_message(ends_.second, message), Receipt::kMessage);
  ASSERT_EQ(message.descriptors.size(), 1U);
  struct stat one = {};
  struct stat other = {};
  ASSERT_EQ(fstat(sent[0], &one), 0);
  ASSERT_EQ(fstat(message.descriptors[0].get(), &other), 0);
  EXPECT_EQ(one.st_ino, other.st_ino);
  ASSERT_TRUE(send_message(ends_.first, {}, {}));
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
    send_message(ends_.second, bytes_of_size(5), {});
  });
  EXPECT_EQ(receive_message(ends_.first, message, milliseconds(20000)), Receipt::kMessage);
  answering.join();
}

TEST_F(MessageChannelTest, WhatWasSentBeforeTheEndIsReadBeforeIt) {
  ASSERT_TRUE(send_message(ends_.second, bytes_of_size(5), {}));
  ends_.second = {};
  EXPECT_EQ(receive_answer(), Receipt::kMessage);
  EXPECT_EQ(receive_answer(), Receipt::kEnded);
  // No signal ends the process, whichever way the message takes.
  send_message(ends_.first, bytes_of_size(5), {});
  EXPECT_FALSE(send_message(ends_.first, bytes_of_size(5000), {}));
}

TEST_F(MessageChannelTest, WhoAnswersSeesTheEnd) {
  ends_.first = {};
  ReceivedMessage message;
  EXPECT_EQ(receive_message(ends_.second, message), Receipt::kEnded);
}

TEST_F(MessageChannelTest, DoesNotWaitForSomebodyWhoDoesNotRead) {
  int sent = 0;
  while (sent < 100000 && send_message(ends_.first, bytes_of_size(5), {})) ++sent;
  EXPECT_GT(sent, 2);
  EXPECT_LT(sent, 100000);
}

TEST_F(MessageChannelTest, TakesNoMoreThanWasAllowed) {
  const std::vector<std::byte> bytes(100000, std::byte{7});
  ReceivedMessage message;
  ASSERT_TRUE(send_message(ends_.second, bytes, {}));
  EXPECT_EQ(receive_message(ends_.first, message, milliseconds(2000), 99999), Receipt::kTooLarge);
  ASSERT_TRUE(send_message(ends_.second, bytes, {}));
  EXPECT_EQ(receive_message(ends_.first, message, milliseconds(2000), 100000), Receipt::kMessage);
  EXPECT_EQ(message.bytes, bytes);
}

// Sends the head of a message whose bytes are those of a file, as a worker may say it is.
void announce(const MessageChannel& from, uint64_t size_bytes, int file) {
  struct Head {
    uint64_t size_bytes;
    uint32_t is_apart;
    int32_t core;
  } head = {size_bytes, 1, 0};
  iovec part = {&head, sizeof(head)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &file, sizeof(file));
  ASSERT_GT(sendmsg(from.socket.get(), &message, MSG_NOSIGNAL), 0);
  const std::array<int32_t, 2> by_socket = {1, 0};
  ASSERT_EQ(::write(from.out.get(), by_socket.data(), sizeof(by_socket)),
            static_cast<ssize_t>(sizeof(by_socket)));
}

TEST_F(MessageChannelTest, TakesNoMemoryForBytesThatTheOtherEndDoesNotHold) {
  constexpr uint64_t kAnnounced = uint64_t{1} << 30;
  const Descriptor sparse(memfd_create("sparse", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(sparse.get(), kAnnounced), 0);
  rusage before = {};
  getrusage(RUSAGE_SELF, &before);
  ReceivedMessage message;
  announce(ends_.second, kAnnounced, sparse.get());
  EXPECT_EQ(receive_message(ends_.first, message, milliseconds(2000)), Receipt::kEnded);
  const Descriptor slow(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  announce(ends_.second, 1 << 20, slow.get());
  EXPECT_EQ(receive_message(ends_.first, message, milliseconds(2000)), Receipt::kEnded);
  rusage after = {};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10) << "KiB";
}

TEST_F(MessageChannelTest, TakesWhatIsNoMessageForTheEnd) {
  const std::array<uint32_t, 2> announced = {1, 0};  // and never sent
  ASSERT_EQ(::write(ends_.second.out.get(), announced.data(), sizeof(announced)), 8);
  EXPECT_EQ(receive_answer(), Receipt::kEnded);
  const std::array<char, 3> cut_short = {};
  ASSERT_EQ(::write(ends_.second.out.get(), cut_short.data(), cut_short.size()), 3);
  EXPECT_EQ(receive_answer(), Receipt::kEnded);
  test::expect_error(Code::kInternal, {"4 descriptors of a channel", "found 0"},
                     [] { (void)MessageChannel::of({}); });
}

}  // namespace
}  // namespace gantry
