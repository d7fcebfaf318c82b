// SPDX-License-Identifier: Apache-2.0
// What a kernel may ask of the host while it runs.
#include "run/run_services.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/error.h"
#include "support/expect_error.h"
#include "support/test_program.h"

namespace gantry {
namespace {

using test::floats;
using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;
using testing::HasSubstr;

std::string take_message(gantry_error* error) {
  if (!error) return {};
  std::string message(message_of(error));
  release_error(error);
  return message;
}

class RunServicesTest : public testing::Test {
 protected:
  // Calls `ask` in the kernel that makes the output of type float[2].
  static std::vector<std::vector<float>> run(const std::function<void(const gantry_call&)>& ask) {
    WorkingProvider::reset();
    int calls = 0;
    WorkingProvider::behaviours["n"].before_run = [&](const gantry_call& call) {
      ++calls;
      ask(call);
    };
    TestProgram program("g (float[2] x) => (float[2] y) { [n] y = Neg(x) }");
    auto outputs = test::run(program.start(), {floats({1, -2})});
    EXPECT_EQ(calls, 1);
    return outputs;
  }
};

TEST_F(RunServicesTest, ParallelForCoversEachItemOnce) {
  run([](const gantry_call& call) {
    std::vector<std::atomic<int>> seen(1000);
    host_table().parallel_for(
        call.run, 1000, 10,
        [](void* arg, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            ++(*static_cast<std::vector<std::atomic<int>>*>(arg))[static_cast<size_t>(i)];
        },
        &seen);
    for (const std::atomic<int>& count : seen) EXPECT_EQ(count, 1);
    EXPECT_EQ(host_table().thread_count(call.run), 1U);
  });
}

TEST_F(RunServicesTest, ScratchIsApartFromWhatTheStepReads) {
  const auto outputs = run([](const gantry_call& call) {
    void* first = nullptr;
    void* second = nullptr;
    ASSERT_EQ(take_message(host_table().scratch(call.run, 100, &first)), "");
    ASSERT_EQ(take_message(host_table().scratch_host(call.run, 100, &second)), "");
    EXPECT_NE(first, second);
    std::memset(first, 0xFF, 100);
    std::memset(second, 0xFF, 100);
  });
  EXPECT_THAT(outputs, ElementsAre(ElementsAre(-1, 2)));
}

TEST_F(RunServicesTest, AValueThatDoesNotFitTheModelIsRefused) {
  run([](const gantry_call& call) {
    const ValueRef other = make_tensor(DType::kInt64, {2});
    EXPECT_THAT(take_message(host_table().output_value(call.run, 0, other.get())),
                HasSubstr("output \"y\" was given"));
    const ValueRef longer = make_tensor(DType::kFloat, {2, 1});
    EXPECT_THAT(take_message(host_table().output_value(call.run, 0, longer.get())),
                HasSubstr("the model says"));
    EXPECT_THAT(take_message(host_table().output_value(call.run, 3, other.get())),
                HasSubstr("output slot 3, which is not there"));
  });
}

TEST_F(RunServicesTest, AnOutputIsMadeOnce) {
  test::expect_error(Code::kInvalidArgument, {"output \"y\" was asked for twice in one run"}, [] {
    run([](const gantry_call& call) {  // before the kernel asks for memory
      EXPECT_EQ(take_message(host_table().output_value(call.run, 0, floats({5, 6}).get())), "");
    });
  });
}

TEST_F(RunServicesTest, ARunThatNobodyStopsGoesOn) {
  run([](const gantry_call& call) {
    EXPECT_EQ(host_table().should_stop(call.run), static_cast<uint32_t>(GANTRY_OK));
    host_table().trace_begin(call.run, {"part", 4});  // without a trace: nothing
    host_table().trace_end(call.run);
  });
}

}  // namespace
}  // namespace gantry
