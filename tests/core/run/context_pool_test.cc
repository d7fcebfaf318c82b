// SPDX-License-Identifier: Apache-2.0
#include "run/context_pool.h"

#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "support/expect_error.h"
#include "support/test_program.h"

namespace gantry {
namespace {

using test::expect_error;
using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;

constexpr size_t kMost = 2;

class ContextPoolTest : public testing::Test {
 protected:
  ContextPoolTest()
      : program_((WorkingProvider::reset(), "g (float[2] x) => (float[2] y) { y = Neg(x) }")),
        pool_(kMost, [this](size_t) {
          if (fails_) throw Error(Code::kDeviceError, "no context today");
          ++made_;
          return std::make_unique<ExecutionContext>(program_.program(), program_.devices(), 1);
        }) {}
  ~ContextPoolTest() override {
    for (std::thread& thread : threads_) thread.join();
  }
  ContextPoolTest(const ContextPoolTest&) = delete;
  ContextPoolTest& operator=(const ContextPoolTest&) = delete;

  // Starts a run that waits for a context and returns it at once; it is in the queue afterwards.
  void queue(int name) {
    const size_t before = pool_.waiting();
    threads_.emplace_back([this, name] {
      ExecutionContext* context = pool_.acquire({});
      {
        const std::lock_guard lock(order_mutex_);
        order_.push_back(name);
      }
      pool_.release(context);
    });
    await([&] { return pool_.waiting() > before; });
  }

  template <typename Condition>
  static void await(Condition condition) {
    while (!condition()) std::this_thread::yield();
  }

  // Until whoever waits now is due.
  static void let_wait() { std::this_thread::sleep_for(2 * ContextPool::kOvertaken); }

  size_t runs_ended() {
    const std::lock_guard lock(order_mutex_);
    return order_.size();
  }

  TestProgram program_;
  std::atomic<bool> fails_ = false;
  std::atomic<int> made_ = 0;
  ContextPool pool_;
  std::mutex order_mutex_;
  std::vector<int> order_;
  std::vector<std::thread> threads_;
};

TEST_F(ContextPoolTest, AContextServesOneRunAfterTheOther) {
  ExecutionContext* first = pool_.acquire({});
  pool_.release(first);
  EXPECT_EQ(pool_.acquire({}), first);
  EXPECT_NE(pool_.acquire({}), first);
  EXPECT_EQ(made_, 2);
}

TEST_F(ContextPoolTest, RunsThatWaitAreServedInTheOrderInWhichTheyCame) {
  ExecutionContext* held = pool_.acquire({});
  ExecutionContext* other = pool_.acquire({});
  for (int i = 0; i < 8; ++i) queue(i);
  let_wait();
  pool_.release(held);
  await([&] { return runs_ended() == 8; });
  EXPECT_THAT(order_, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  pool_.release(other);
}

TEST_F(ContextPoolTest, ARunThatIsDueIsNotOvertaken) {
  ExecutionContext* held = pool_.acquire({});
  ExecutionContext* other = pool_.acquire({});
  queue(0);
  let_wait();
  // The context is the waiting run's as soon as it is returned: this thread finds the queue empty,
  // and has to wait for it in turn.
  pool_.release(held);
  EXPECT_EQ(pool_.waiting(), 0U);
  ExecutionContext* again = pool_.acquire({});
  EXPECT_EQ(runs_ended(), 1U);
  pool_.release(again);
  pool_.release(other);
}

TEST_F(ContextPoolTest, SeveralFreeContextsWakeAsManyRuns) {
  ExecutionContext* held = pool_.acquire({});
  ExecutionContext* other = pool_.acquire({});
  queue(0);
  queue(1);
  pool_.release(held);
  pool_.release(other);
  await([&] { return runs_ended() == 2; });
}

TEST_F(ContextPoolTest, ARunThatIsStoppedLeavesTheQueue) {
  ExecutionContext* held = pool_.acquire({});
  ExecutionContext* other = pool_.acquire({});
  std::atomic<bool> cancel = false;
  threads_.emplace_back([&] {
    RunOptions options;
    options.cancel = &cancel;
    expect_error(Code::kCancelled, {"the run was cancelled"},
                 [&] { pool_.acquire(RunLimits(options)); });
  });
  await([&] { return pool_.waiting() == 1; });
  queue(1);
  cancel = true;
  await([&] { return pool_.waiting() == 1; });
  pool_.release(held);
  await([&] { return runs_ended() == 1; });
  pool_.release(other);
}

TEST_F(ContextPoolTest, AContextThatIsRemovedMakesRoomForARunThatWaits) {
  ExecutionContext* held = pool_.acquire({});
  ExecutionContext* other = pool_.acquire({});
  queue(0);
  const std::unique_ptr<ExecutionContext> removed = pool_.remove(held);
  EXPECT_EQ(removed.get(), held);
  await([&] { return runs_ended() == 1; });
  EXPECT_EQ(made_, 3);
  pool_.release(other);
}

TEST_F(ContextPoolTest, AContextThatCannotBeMadeTakesNoRoom) {
  ExecutionContext* held = pool_.acquire({});
  fails_ = true;
  for (int i = 0; i < 3; ++i) {
    expect_error(Code::kDeviceError, {"no context today"}, [&] { pool_.acquire({}); });
  }
  fails_ = false;
  ExecutionContext* other = pool_.acquire({});
  EXPECT_NE(other, held);
  pool_.release(held);
  pool_.release(other);
  EXPECT_EQ(pool_.remove_all().size(), 2U);
}

}  // namespace
}  // namespace gantry
