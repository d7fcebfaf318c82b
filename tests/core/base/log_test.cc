// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/expect_error.h"

namespace gantry {
namespace {

// Puts the log back to what it was.
class LogTest : public testing::Test {
 protected:
  LogTest() {
    set_log_handler([this](LogLevel level, std::string_view message) {
      lines_.push_back(std::string(to_string(level)) + ": " + std::string(message));
    });
  }
  ~LogTest() override {
    set_log_handler(nullptr);
    set_log_level(before_);
  }

  std::vector<std::string> lines_;

 private:
  LogLevel before_ = log_level();
};

TEST_F(LogTest, ItsLevelSaysWhatIsTold) {
  set_log_level(LogLevel::kInfo);
  EXPECT_EQ(log_level(), LogLevel::kInfo);
  EXPECT_TRUE(logs(LogLevel::kInfo));
  EXPECT_FALSE(logs(LogLevel::kDebug));
  log(LogLevel::kInfo, "a node fell back");
  log(LogLevel::kDebug, "a step ran");
  log(static_cast<LogLevel>(17), "of a newer provider");
  set_log_level(LogLevel::kError);
  log(LogLevel::kWarning, "a file is stale");
  log(LogLevel::kError, "a provider crashed");
  EXPECT_EQ(lines_,
            (std::vector<std::string>{"info: a node fell back", "error: a provider crashed"}));
}

TEST_F(LogTest, GoesToStandardErrorWithoutAHandler) {
  set_log_handler(nullptr);
  testing::internal::CaptureStderr();
  set_log_handler(nullptr);  // a sink that knows the captured stream
  log(LogLevel::kError, "a provider crashed");
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_NE(written.find("gantry error: a provider crashed"), std::string::npos) << written;
  EXPECT_TRUE(lines_.empty());
}

TEST_F(LogTest, DropsWhatAHandlerThrows) {
  set_log_handler([](LogLevel, std::string_view) { throw std::runtime_error("full"); });
  testing::internal::CaptureStderr();
  log(LogLevel::kError, "a provider crashed");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(LogLevels, HaveWords) {
  for (const LogLevel level :
       {LogLevel::kError, LogLevel::kWarning, LogLevel::kInfo, LogLevel::kDebug})
    EXPECT_EQ(log_level_of(std::string(to_string(level))), level);
  test::expect_error(Code::kInvalidArgument, {"error, warning, info and debug", "\"loud\""},
                     [] { log_level_of("loud"); });
}

}  // namespace
}  // namespace gantry
