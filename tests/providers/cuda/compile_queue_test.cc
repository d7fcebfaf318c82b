// SPDX-License-Identifier: Apache-2.0
#include "../../../providers/cuda/compile/compile_queue.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <stdexcept>

#include "../../../providers/cuda/compile/programs.h"

namespace gantry::cuda {
namespace {

constexpr std::chrono::seconds kLong(20);

// A rendezvous: several threads have to arrive at the same time.
class Meeting {
 public:
  explicit Meeting(int wanted) : wanted_(wanted) {}
  /// False: the others did not come.
  bool come() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++present_;
    changed_.notify_all();
    return changed_.wait_for(lock, kLong, [&] { return present_ >= wanted_; });
  }

 private:
  const int wanted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int present_ = 0;
};

TEST(CompileQueue, CompilesSideBySide) {
  Meeting meeting(3);
  CompileQueue queue(
      [&](const std::string& source, int capability) {
        return (meeting.come() ? source : "alone") + std::to_string(capability);
      },
      3);
  const Program programs[] = {{"a"}, {"b"}, {"c"}};
  for (const Program& program : programs) queue.ask(program, 90);
  for (const Program& program : programs)
    EXPECT_EQ(*queue.code_of(program, 90), program.source + "90");
}

TEST(CompileQueue, MakesNothingTwice) {
  std::atomic<int> made{0};
  CompileQueue queue(
      [&](const std::string& source, int) { return source + std::to_string(++made); }, 2);
  const Program program{"a"};
  for (int i = 0; i < 3; ++i) queue.ask(program, 90);
  EXPECT_EQ(*queue.code_of(program, 90), "a1");
  EXPECT_EQ(*queue.code_of(program, 90), "a1");
  EXPECT_EQ(*queue.code_of(program, 80), "a2") << "code is of one architecture";
  queue.forget(program, 90);
  queue.ask(program, 90);
  EXPECT_EQ(made, 2) << "what was asked for before is not made for nobody";
  EXPECT_EQ(*queue.code_of(program, 90), "a3");
}

TEST(CompileQueue, HelpsItselfWhereNoThreadHasBegun) {
  Meeting busy(2);
  Meeting done(2);
  CompileQueue queue(
      [&](const std::string& source, int) {
        if (source == "first") {
          busy.come();
          done.come();
        }
        return source;
      },
      1);
  const Program first{"first"};
  const Program second{"second"};
  queue.ask(first, 90);
  ASSERT_TRUE(busy.come());
  queue.ask(second, 90);
  EXPECT_EQ(*queue.code_of(second, 90), "second") << "while the only thread is at another";
  ASSERT_TRUE(done.come());
  EXPECT_EQ(*queue.code_of(first, 90), "first");
}

TEST(CompileQueue, RethrowsAFailureToEveryCaller) {
  CompileQueue queue(
      [](const std::string& source, int) -> std::string { throw std::runtime_error(source); }, 2);
  const Program program{"unknown word"};
  queue.ask(program, 90);
  for (int i = 0; i < 2; ++i) {
    try {
      queue.code_of(program, 90);
      ADD_FAILURE() << "it has no code";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "unknown word");
    }
  }
}

TEST(CompileQueue, EndsWithoutWhatHasNotBegun) {
  Meeting busy(2);
  Meeting done(2);
  std::atomic<int> made{0};
  const Program programs[] = {{"a"}, {"b"}, {"c"}};
  std::thread helper;
  {
    CompileQueue queue(
        [&](const std::string& source, int) {
          busy.come();
          done.come();
          ++made;
          return source;
        },
        1);
    for (const Program& program : programs) queue.ask(program, 90);
    ASSERT_TRUE(busy.come());
    helper = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // for the end to have begun
      done.come();
    });
    queue.end();
    EXPECT_EQ(made, 1);
    queue.ask(Program{"d"}, 90);
  }
  helper.join();
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace gantry::cuda
