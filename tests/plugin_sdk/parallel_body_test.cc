// SPDX-License-Identifier: Apache-2.0
#include "gantry/sdk/parallel_body.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gantry::sdk {
namespace {

TEST(ParallelBody, ThrowsWhatABodyThrew) {
  auto body = [](int64_t begin, int64_t end) {
    if (begin <= 2 && 2 < end) throw std::runtime_error("range of 2");
  };
  ParallelBody<decltype(body)> guarded(body);
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < 4; ++i) threads.emplace_back([&guarded, i] { guarded.call(i, i + 1); });
  for (std::thread& thread : threads) thread.join();
  try {
    guarded.rethrow();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "range of 2");
  }
}

TEST(ParallelBody, LeavesOutRangesThatBeginLater) {
  int calls = 0;
  auto body = [&calls](int64_t, int64_t) {
    ++calls;
    throw calls;
  };
  ParallelBody<decltype(body)> guarded(body);
  guarded.call(0, 1);
  guarded.call(1, 2);
  EXPECT_THROW(guarded.rethrow(), int);
  EXPECT_EQ(calls, 1);
}

TEST(ParallelBody, ThrowsNothingIfNoBodyThrew) {
  auto body = [](int64_t, int64_t) {};
  ParallelBody<decltype(body)> guarded(body);
  guarded.call(0, 1);
  EXPECT_NO_THROW(guarded.rethrow());
}

}  // namespace
}  // namespace gantry::sdk
