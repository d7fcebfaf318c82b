// SPDX-License-Identifier: Apache-2.0
#include <gantry/gantry.h>

#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "expect_error.h"
#include "model_text.h"

namespace gantry {
namespace {

class RunAsyncTest : public testing::Test {
 protected:
  static Tensor of(float value) {
    Tensor tensor(DType::kFloat, {4});
    for (int i = 0; i < 4; ++i) static_cast<float*>(tensor.data())[i] = value;
    return tensor;
  }
  static float first(const std::vector<Tensor>& outputs) {
    return static_cast<const float*>(outputs.at(0).data())[0];
  }

  const std::string bytes_ =
      test::parse_model("g (float[4] x) => (float[4] y) { n = Neg(x) y = Sub(n, x) }")
          .SerializeAsString();
  Runtime runtime_;
  Session session_{runtime_, ModelSource(test::as_bytes(bytes_), {})};
};

TEST_F(RunAsyncTest, ManyRunsEachHaveTheirResult) {
  std::vector<std::future<std::vector<Tensor>>> runs;
  runs.reserve(100);
  for (int i = 0; i < 100; ++i)
    runs.push_back(session_.run_async({{"x", of(static_cast<float>(i))}}));
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(first(runs[static_cast<size_t>(i)].get()), static_cast<float>(-2 * i));
}

TEST_F(RunAsyncTest, TheCallbackIsCalledOnAnotherThread) {
  std::promise<std::pair<std::thread::id, float>> told;
  session_.run_async({{"x", of(3)}},
                     [&](const std::vector<Tensor>& outputs, const std::exception_ptr& error) {
                       EXPECT_FALSE(error);
                       told.set_value({std::this_thread::get_id(), first(outputs)});
                     });
  const auto [thread, result] = told.get_future().get();
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_EQ(result, -6);
}

TEST_F(RunAsyncTest, ErrorsAreThoseOfARun) {
  try {
    static_cast<void>(session_.run_async({{"z", of(1)}}).get());
    FAIL() << "there is no input z";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(error.message().find("\"z\""), std::string::npos) << error.message();
  }
  const std::atomic<bool> cancelled = true;
  EXPECT_THROW(session_.run_async({{"x", of(1)}}, {.cancel = &cancelled, .timeout_ns = {}}).get(),
               Error);
  EXPECT_THROW(session_.run_async({{"x", of(1)}}, {.cancel = nullptr, .timeout_ns = 0}).get(),
               Error);
  EXPECT_EQ(first(session_.run_async({{"x", of(1)}}).get()), -2);  // and the next is well
}

TEST_F(RunAsyncTest, WhatIsEmptyIsRefused) {
  const std::function<void(std::vector<Tensor>, std::exception_ptr)> none;
  test::expect_error(Code::kInvalidArgument, {"run_async", "empty"}, [&] {
    session_.run_async({{"x", of(1)}}, none);
  });
  Binding binding(session_);
  const Binding owner_of_binding = std::move(binding);
  const Session owner = std::move(session_);
  // NOLINTBEGIN(bugprone-use-after-move): what is asked for
  test::expect_error(Code::kInvalidArgument, {"expected a binding"}, [&] { binding.run(); });
  test::expect_error(Code::kInvalidArgument, {"expected a session"}, [&] {
    static_cast<void>(session_.run({{"x", of(1)}}));
  });
  test::expect_error(Code::kInvalidArgument, {"expected a session"},
                     [&] { static_cast<void>(session_.inputs()); });
  // NOLINTEND(bugprone-use-after-move)
}

TEST_F(RunAsyncTest, TheDestructorWaits) {
  std::atomic<int> ended = 0;
  {
    Session session = std::move(session_);
    for (int i = 0; i < 50; ++i) {
      session.run_async({{"x", of(1)}},
                        [&](const std::vector<Tensor>&, const std::exception_ptr&) { ++ended; });
    }
  }
  EXPECT_EQ(ended, 50);
}

}  // namespace
}  // namespace gantry
