// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/spin_wait.h"

#include <chrono>
#include <csignal>
#include <ctime>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <thread>

#include "plugin/isolation/message_socket.h"

namespace gantry {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kElsewhere = -1;
constexpr milliseconds kLong{20000};

class SpinWaitTest : public testing::Test {
 protected:
  void send() { ASSERT_TRUE(send_message(ends_.second.get(), {}, {})); }
  void receive() { ASSERT_TRUE(receive_message(ends_.first.get()).has_value()); }
  bool wait(microseconds bound, int other_core = kElsewhere) {
    return wait_.wait(ends_.first.get(), bound, other_core);
  }
  // On a busy machine others may have had the core in any wait.
  bool wait_rested(microseconds bound) {
    std::this_thread::sleep_for(SpinWait::kRest);
    return wait(bound);
  }

  std::pair<Descriptor, Descriptor> ends_ = make_message_sockets();
  SpinWait wait_;
};

TEST_F(SpinWaitTest, SeesWhatIsThereAndWhatComes) {
  send();
  EXPECT_TRUE(wait(kLong));
  receive();
  std::thread sender([this] { send(); });
  while (!wait_rested(kLong)) {
  }
  sender.join();
  receive();
  ends_.second.reset();
  EXPECT_TRUE(wait_rested(kLong));
}

TEST_F(SpinWaitTest, SleepsAtOnceIfTheOtherSideSharesTheCore) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  const int core = sched_getcpu();
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  ASSERT_EQ(sched_setaffinity(0, sizeof(only), &only), 0);
  send();
  EXPECT_FALSE(wait(kLong, core));
  EXPECT_TRUE(wait(kLong, core + 1));
  sched_setaffinity(0, sizeof(before), &before);
}

TEST_F(SpinWaitTest, LeavesWaitsOutThatComeToNothing) {
  constexpr microseconds kShort{100};
  const auto count_left_out = [&] {
    uint32_t count = 0;
    while (!wait_rested(kShort)) ++count;
    return count;
  };
  EXPECT_FALSE(wait_rested(kShort));
  send();
  EXPECT_EQ(count_left_out(), 0U) << "one may fail";
  receive();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(wait_rested(kShort)) << "two fail, and with them the next is left out";
  }
  EXPECT_FALSE(wait_rested(kShort)) << "the third";
  send();
  EXPECT_EQ(count_left_out(), 3U);
}

TEST_F(SpinWaitTest, RestsAfterItsCoreWasGivenToSomebodyElse) {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    constexpr timespec kTurn = {0, 5000000};
    nanosleep(&kTurn, nullptr);
  };
  struct sigaction before = {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  const auto start = std::chrono::steady_clock::now();
  const pthread_t waiting = pthread_self();
  std::thread other([waiting] {
    std::this_thread::sleep_for(milliseconds(20));
    pthread_kill(waiting, SIGUSR1);
  });
  EXPECT_FALSE(wait(kLong));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kLong / 2);
  other.join();
  sigaction(SIGUSR1, &before, nullptr);
  send();
  const auto resting = std::chrono::steady_clock::now();
  while (!wait(kLong)) {
  }
  // The rest began while the other thread was waited for.
  EXPECT_GT(std::chrono::steady_clock::now() - start, SpinWait::kRest);
  EXPECT_LT(std::chrono::steady_clock::now() - resting, kLong / 2);
}

}  // namespace
}  // namespace gantry
