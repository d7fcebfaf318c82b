// SPDX-License-Identifier: Apache-2.0
#include "plugin/child_process.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

namespace gantry {
namespace {

constexpr auto kByDescriptor = static_cast<idtype_t>(3);  // P_PIDFD, which old headers lack

// The environment of the child, with the current log level. Borrows from `environ` and from
// `log_setting`.
std::vector<char*> environment_with(std::string& log_setting,
                                    const std::function<bool(std::string_view)>& takes) {
  const std::string_view name = "GANTRY_LOG=";
  std::vector<char*> variables;
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with(name) || (takes && !takes(text.substr(0, text.find('='))))) continue;
    variables.push_back(*variable);
  }
  log_setting = name;
  log_setting += to_string(log_level());
  variables.push_back(log_setting.data());
  variables.push_back(nullptr);
  return variables;
}

}  // namespace

int start_child(const std::string& program, std::vector<std::string> arguments,
                const std::array<int, 4>& descriptors, pid_t* child,
                const std::function<bool(std::string_view)>& takes) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int number = 0; number < static_cast<int>(descriptors.size()); ++number) {
    const int source = descriptors[static_cast<size_t>(number)];
    if (source == kNullDevice) {
      const int mode = number == STDIN_FILENO ? O_RDONLY : O_WRONLY;
      posix_spawn_file_actions_addopen(&actions, number, "/dev/null", mode, 0);
    } else if (source != kInherited) {
      posix_spawn_file_actions_adddup2(&actions, source, number);
    }
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  arguments.insert(arguments.begin(), program);
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  std::string log_setting;
  const int status = posix_spawn(child, program.c_str(), &actions, &attributes, pointers.data(),
                                 environment_with(log_setting, takes).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return status;
}

ChildWatch::ChildWatch(pid_t child)
    : child_(child), pidfd_(static_cast<int>(syscall(SYS_pidfd_open, child, 0))) {
  if (pidfd_.get() < 0) {
    if (errno == ESRCH) child_ = kGone;
    return;
  }
  // Linux 5.3 has pidfds, but nobody can wait for one.
  siginfo_t state = {};
  if (ask(state, WNOHANG | WNOWAIT) != 0 && errno == EINVAL) pidfd_.reset();
}

int ChildWatch::ask(siginfo_t& state, int options) const noexcept {
  const bool has_pidfd = pidfd_.get() >= 0;
  const idtype_t by = has_pidfd ? kByDescriptor : P_PID;
  const int number = has_pidfd ? pidfd_.get() : child_;
  int status = -1;
  do {
    state = {};
    status = waitid(by, static_cast<id_t>(number), &state, WEXITED | options);
  } while (status != 0 && errno == EINTR);
  return status;
}

bool ChildWatch::has_ended(int timeout_ms) const noexcept {
  if (child_ == kGone) return true;
  if (pidfd_.get() >= 0) {
    pollfd wait = {pidfd_.get(), POLLIN, 0};
    return poll(&wait, 1, timeout_ms) > 0;
  }
  siginfo_t state = {};
  for (int waited_ms = 0;; ++waited_ms) {
    if (ask(state, WNOHANG | WNOWAIT) != 0 || state.si_pid != 0) return true;
    if (timeout_ms >= 0 && waited_ms >= timeout_ms) return false;
    poll(nullptr, 0, 1);
  }
}

void ChildWatch::end() const noexcept {
  if (child_ == kGone) return;
  if (pidfd_.get() >= 0) syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  // The process id, also that of its group, is not reused before the child is waited for.
  siginfo_t state = {};
  if (ask(state, WNOHANG | WNOWAIT) == 0) kill(-child_, SIGKILL);
}

siginfo_t ChildWatch::wait() noexcept {
  siginfo_t how = {};
  if (child_ == kGone || ask(how, 0) != 0) how = {};
  if (pidfd_.get() < 0) child_ = kGone;  // the number may be another's from now on
  return how;
}

void close_inherited_descriptors() noexcept {
  constexpr unsigned kFirst = 4;
  if (syscall(SYS_close_range, kFirst, ~0U, 0) == 0) return;
  // Linux before 5.9 has no close_range.
  const long most = sysconf(_SC_OPEN_MAX);
  for (int number = kFirst; number < most; ++number) close(number);
}

}  // namespace gantry
