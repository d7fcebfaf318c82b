// SPDX-License-Identifier: Apache-2.0
#include "plugin/child_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/log.h"
#include "plugin/isolation/worker_process.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace gantry {
namespace {

constexpr std::array<int, 4> kNothing = {kNullDevice, kNullDevice, kNullDevice, kNullDevice};

int status_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// What a program says first, to a pipe as its descriptors 1 and 3.
std::string words_of(const std::string& program, std::vector<std::string> arguments, pid_t* child) {
  std::array<int, 2> ends = {};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Descriptor read_end(ends[0]);
  Descriptor write_end(fcntl(ends[1], F_DUPFD_CLOEXEC, 10));
  close(ends[1]);
  EXPECT_EQ(start_child(program, std::move(arguments),
                        {kNullDevice, write_end.get(), kInherited, write_end.get()}, child),
            0);
  write_end.reset();
  std::string words(256, '\0');
  const ssize_t size = read(read_end.get(), words.data(), words.size());
  words.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return words;
}

TEST(StartChild, GivesDescriptorsAndArguments) {
  pid_t child = -1;
  // `cat` ends at once if there is nothing to read.
  EXPECT_EQ(words_of("/bin/sh", {"-c", "cat; echo \"$0\" >&3", "vendor"}, &child), "vendor\n");
  EXPECT_EQ(status_of(child), 0);
}

TEST(StartChild, MakesAGroupThatEndsAsOne) {
  pid_t child = -1;
  words_of("/bin/sh", {"-c", "sleep 9 & echo ready; wait"}, &child);
  EXPECT_EQ(getpgid(child), child);
  EXPECT_NE(getpgid(child), getpgid(0));
  kill(-child, SIGKILL);
  EXPECT_EQ(status_of(child), -SIGKILL);
}

TEST(StartChild, BlocksNoSignal) {
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  pid_t child = -1;
  const std::string mask = words_of("/bin/grep", {"SigBlk", "/proc/self/status"}, &child);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(mask, "SigBlk:\t0000000000000000\n");
  EXPECT_EQ(status_of(child), 0);
}

TEST(StartChild, HandsOnTheLevelOfTheLog) {
  const LogLevel before = log_level();
  set_log_level(LogLevel::kDebug);
  setenv("GANTRY_LOG_TEST", "kept", 1);
  pid_t child = -1;
  const std::string words =
      words_of("/bin/sh", {"-c", "echo \"$GANTRY_LOG, $GANTRY_LOG_TEST\""}, &child);
  set_log_level(before);
  unsetenv("GANTRY_LOG_TEST");
  EXPECT_EQ(words, "debug, kept\n");
  EXPECT_EQ(status_of(child), 0);
}

// From then on this process has none, as on an older Linux.
void forbid_pidfds() {
  std::array<sock_filter, 4> code = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {code.size(), code.data()};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
  ASSERT_EQ(syscall(SYS_pidfd_open, getpid(), 0), -1);
  ASSERT_EQ(errno, ENOSYS);
}

// With pidfds and without. ctest runs each case in a process of its own.
class WatchedChild : public testing::TestWithParam<bool> {
  void SetUp() override {
    if (!GetParam()) forbid_pidfds();
  }
};

INSTANTIATE_TEST_SUITE_P(, WatchedChild, testing::Values(true, false),
                         [](const auto& info) { return info.param ? "ByPidfd" : "ByProcessId"; });

TEST_P(WatchedChild, TellsHowAChildEnded) {
  pid_t child = -1;
  ASSERT_EQ(start_child("/bin/sh", {"-c", "exit 7"}, kNothing, &child), 0);
  ChildWatch watch(child);
  EXPECT_TRUE(watch.has_ended(-1));
  const siginfo_t how = watch.wait();
  EXPECT_EQ(how.si_signo, SIGCHLD);
  EXPECT_EQ(how.si_status, 7);
}

TEST_P(WatchedChild, EndsWhatTheChildStartedToo) {
  pid_t child = -1;
  words_of("/bin/sh", {"-c", "sleep 99 & echo ready; wait"}, &child);
  ChildWatch watch(child);
  EXPECT_FALSE(watch.has_ended());
  watch.end();
  EXPECT_EQ(watch.wait().si_status, SIGKILL);
  for (int i = 0; i < 500 && kill(-child, 0) == 0; ++i) usleep(10000);
  EXPECT_NE(kill(-child, 0), 0) << "the group is not empty";
}

// The system waits for the children of such a process, and their numbers are free at once.
TEST_P(WatchedChild, WorksWhereSigchldIsIgnored) {
  struct sigaction before = {};
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGCHLD, &ignore, &before), 0);
  pid_t child = -1;
  EXPECT_EQ(start_child("/bin/sh", {"-c", "sleep 99"}, kNothing, &child), 0);
  ChildWatch watch(child);
  EXPECT_FALSE(watch.has_ended());
  watch.end();
  EXPECT_TRUE(watch.has_ended(5000));
  EXPECT_EQ(watch.wait().si_signo, 0) << "nobody is told how";
  watch.end();  // signals nobody: the number may be another's
  sigaction(SIGCHLD, &before, nullptr);
}

TEST_P(WatchedChild, TakesAChildThatIsGone) {
  pid_t child = -1;
  ASSERT_EQ(start_child("/bin/true", {}, kNothing, &child), 0);
  EXPECT_EQ(status_of(child), 0);
  ChildWatch watch(child);
  EXPECT_TRUE(watch.has_ended());
  watch.end();
  EXPECT_EQ(watch.wait().si_signo, 0);
}

TEST(StartChild, TellsWhatFailed) {
  pid_t child = -1;
  EXPECT_EQ(start_child("/nowhere/program", {}, kNothing, &child), ENOENT);
}

TEST(WorkerProcess, IsRefusedWhenItsProgramIsNone) {
  test::TempFolder folder;
  const std::string file = folder.write("gantry-worker", "no program");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  IsolationSettings settings;
  settings.worker = file;
  test::expect_error(Code::kUnavailable, {"vendor", "cannot be started", "Exec format error"},
                     [&] { WorkerProcess::start("vendor", settings); });
}

}  // namespace
}  // namespace gantry
