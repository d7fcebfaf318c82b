// SPDX-License-Identifier: Apache-2.0
#include "plugin/child_process.h"

#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <string_view>
#include <unistd.h>

#include "base/log.h"

namespace gantry {
namespace {

// Our environment, but with the log's level of now. Borrows from `environ` and from `log_setting`.
std::vector<char*> environment_with(std::string& log_setting) {
  const std::string_view name = "GANTRY_LOG=";
  std::vector<char*> variables;
  for (char** variable = environ; variable && *variable; ++variable) {
    if (!std::string_view(*variable).starts_with(name)) variables.push_back(*variable);
  }
  log_setting = name;
  log_setting += to_string(log_level());
  variables.push_back(log_setting.data());
  variables.push_back(nullptr);
  return variables;
}

}  // namespace

int start_child(const std::string& program, std::vector<std::string> arguments,
                const std::array<int, 4>& descriptors, pid_t* child) {
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
                                 environment_with(log_setting).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return status;
}

}  // namespace gantry
