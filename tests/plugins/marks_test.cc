// SPDX-License-Identifier: Apache-2.0
// A process that dies in a provider's code leaves its name to the next one.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/linux_state.h"
#include "plugin/crash_marks.h"
#include "plugin/mark_file.h"
#include "provider_folder.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kAlone = "needs a process of its own, as ctest gives it";

class MarksTest : public testing::Test {
 protected:
  MarksTest() : environment_(folder_.environment()) {
    environment_.cache_folder = folder_.path("cache");
  }
  // Runs `body` in a child and waits for its end. A child of a process that has opened providers
  // may open none; then false, with a word.
  template <class Body>
  static bool in_child(Body&& body) {
    constexpr int kCannot = 77;
    const pid_t child = fork();
    if (child == 0) {
      if (fork_generation() != 0) _exit(kCannot);  // after a test that opened providers
      body();
      std::exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return !WIFEXITED(status) || WEXITSTATUS(status) != kCannot;
  }
  [[nodiscard]] size_t left() const {
    std::error_code none;
    const fs::directory_iterator files(folder_.path("cache/running"), none);
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  // The file that a process leaves which ended in a run of "x", changed by `edit`. Returns its
  // path.
  template <class Edit>
  fs::path leave_file(Edit&& edit) {
    folder_.add("good", "x");
    const std::string library = fs::canonical(folder_.path("x.so")).string();
    const LinuxState state = linux_state();
    MarkFile marks;
    marks.process = 1;
    marks.memory_kills = state.memory_kills.value();
    state.boot.copy(marks.boot.data(), marks.boot.size() - 1);
    marks.providers[0].name[0] = 'x';
    library.copy(marks.providers[0].library.data(), marks.providers[0].library.size() - 1);
    marks.cells[0].mark = mark_of(1, MarkedCall::kRun);
    edit(marks);
    fs::create_directories(folder_.path("cache/running"));
    fs::path file = folder_.path("cache/running/1-1");
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(&marks), sizeof marks);
    return file;
  }

  test::ProviderFolder folder_;
  SearchEnvironment environment_;
};

TEST_F(MarksTest, ACrashIsToldByTheNextProcess) {
  folder_.add("crash_entry", "x");
  if (!in_child([&] { folder_.registry(environment_)->find({"FAKE", 0}); })) GTEST_SKIP() << kAlone;
  EXPECT_EQ(left(), 1U);
  for (int i = 0; i < 2; ++i) {  // and by the ones after that
    const auto row = folder_.registry(environment_)->report(false)[0];
    ASSERT_EQ(row.warnings.size(), 1U);
    EXPECT_THAT(row.warnings[0],
                testing::AllOf(HasSubstr("(negotiate)"), HasSubstr("GANTRY_ISOLATION=x=process"),
                               HasSubstr("GANTRY_PROVIDERS_DISABLE=x ")));
  }
  EXPECT_EQ(left(), 0U);
  fs::last_write_time(folder_.path("x.so"),
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_TRUE(folder_.registry(environment_)->report(false)[0].warnings.empty())
      << "another library is not to blame";
}

TEST_F(MarksTest, ACrashInARunIsToldToo) {
  folder_.add("good", "x");
  if (!in_child([&] {
        const auto found = folder_.registry(environment_)->find({"FAKE", 0});
        mark_cell()->store(mark_of(found[0].provider->mark(), MarkedCall::kRun));
        raise(SIGKILL);
      }))
    GTEST_SKIP() << kAlone;
  const auto row = folder_.registry(environment_)->report(false)[0];
  ASSERT_EQ(row.warnings.size(), 1U);
  EXPECT_THAT(row.warnings[0], HasSubstr("(run)"));
}

TEST_F(MarksTest, ItIsToldHowLongAgoAndThatItMayHaveBeenKilled) {
  const fs::path file = leave_file([](MarkFile&) {});
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::minutes(125));
  fs::last_write_time(folder_.path("x.so"),
                      fs::file_time_type::clock::now() - std::chrono::hours(3));
  const auto row = folder_.registry(environment_)->report(false)[0];
  ASSERT_EQ(row.warnings.size(), 1U);
  EXPECT_THAT(row.warnings[0],
              testing::AllOf(HasSubstr(" ended 2 hours ago while"), HasSubstr("it was killed"),
                             testing::Not(HasSubstr("want of memory"))));
}

TEST_F(MarksTest, ItIsToldForADay) {
  const fs::path file = leave_file([](MarkFile&) {});
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(25));
  fs::last_write_time(folder_.path("x.so"),
                      fs::file_time_type::clock::now() - std::chrono::hours(30));
  EXPECT_TRUE(folder_.registry(environment_)->report(false)[0].warnings.empty());
}

TEST_F(MarksTest, WantOfMemoryIsTold) {
  leave_file([](MarkFile& marks) { --marks.memory_kills; });
  for (int i = 0; i < 2; ++i) {
    const auto row = folder_.registry(environment_)->report(false)[0];
    ASSERT_EQ(row.warnings.size(), 1U);
    EXPECT_THAT(row.warnings[0], HasSubstr("for want of memory"));
  }
}

TEST_F(MarksTest, ARestartOfTheMachineIsNobodysFault) {
  leave_file([](MarkFile& marks) { marks.boot[0] ^= 1; });
  EXPECT_TRUE(folder_.registry(environment_)->report(false)[0].warnings.empty());
  EXPECT_EQ(left(), 0U);
}

TEST_F(MarksTest, AnOrderlyEndLeavesNothing) {
  folder_.add("good", "x");
  if (!in_child([&] {
        folder_.registry(environment_)->find({"FAKE", 0});
        EXPECT_EQ(left(), 1U);
      }))
    GTEST_SKIP() << kAlone;
  EXPECT_EQ(left(), 0U);
}

TEST_F(MarksTest, ADeathElsewhereIsNobodysFault) {
  folder_.add("good", "x");
  if (!in_child([&] {
        folder_.registry(environment_)->find({"FAKE", 0});
        raise(SIGKILL);
      }))
    GTEST_SKIP() << kAlone;
  EXPECT_EQ(left(), 1U);
  EXPECT_TRUE(folder_.registry(environment_)->report(false)[0].warnings.empty());
  EXPECT_EQ(left(), 0U);
}

}  // namespace
}  // namespace gantry
