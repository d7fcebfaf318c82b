// SPDX-License-Identifier: Apache-2.0
// What a sandbox leaves open, as a provider finds it: one number for each question, 1 for "open".
// Against the C library alone.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <string>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fakes {

/// In the order of the numbers.
enum Question : uint32_t {
  kReadFile,
  kNetwork,
  kMakeFile,
  kDevice,
  kShortenFile,
  kSignal,
  kLimits,
  kPriority,
  kAffinity,
  kProgram,
  kProcess,
  kSharedMemory,
  kPermissions,
  kDatagrams,
  kOwnLimits,
  kEnvironment,
  kOwnThreads,  // which a sandbox leaves open
  kQuestions
};

inline bool closes(int number) {
  if (number >= 0) close(number);
  return number >= 0;
}

/// Whether a system call was let through, whatever became of it.
inline bool is_let_through(long result) {
  return result >= 0 || (errno != EPERM && errno != EACCES);
}

inline bool is_open(uint32_t question) {
  const pid_t application = getppid();
  // The application made this file: each has its own, as tests run side by side.
  const std::string file = "/tmp/gantry-sandbox-truncate-" + std::to_string(application);
  const std::string made = "/tmp/gantry-sandbox-made-" + std::to_string(getpid());
  errno = 0;
  switch (question) {
    case kReadFile:
      return closes(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
    case kNetwork:
      return closes(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    case kMakeFile: {
      const bool is_made = closes(open(made.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
      if (is_made) unlink(made.c_str());
      return is_made;
    }
    case kDevice:
      return closes(open("/dev/full", O_RDWR | O_CLOEXEC));
    case kShortenFile:
      return truncate(file.c_str(), 0) == 0;
    case kSignal:
      return kill(application, 0) == 0;
    case kLimits: {
      rlimit limit = {};
      return prlimit(application, RLIMIT_NOFILE, nullptr, &limit) == 0;
    }
    case kPriority:
      return setpriority(PRIO_PROCESS, static_cast<id_t>(application), 0) == 0;
    case kAffinity: {
      cpu_set_t cpus;
      return sched_getaffinity(application, sizeof(cpus), &cpus) == 0 &&
             sched_setaffinity(application, sizeof(cpus), &cpus) == 0;
    }
    case kProgram: {
      char name[] = "true";
      char* const arguments[] = {name, nullptr};
      char* const variables[] = {nullptr};
      pid_t child = -1;
      if (posix_spawn(&child, "/usr/bin/true", nullptr, nullptr, arguments, variables) != 0)
        return false;
      return waitpid(child, nullptr, 0) == child;
    }
    case kProcess: {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      return child > 0 && waitpid(child, nullptr, 0) == child;
    }
    case kSharedMemory: {
      const int block = shmget(IPC_PRIVATE, 4096, 0600);
      if (block >= 0) shmctl(block, IPC_RMID, nullptr);
      return is_let_through(block);
    }
    case kPermissions:
      return is_let_through(chmod(file.c_str(), 0600)) ||
             is_let_through(utimensat(AT_FDCWD, file.c_str(), nullptr, 0));
    case kDatagrams: {
      int ends[2] = {-1, -1};
      if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
      return closes(ends[0]) && closes(ends[1]);
    }
    case kOwnLimits: {  // the one that it was given for good, as root might raise
      const rlimit raised = {1, 1};
      return setrlimit(RLIMIT_CORE, &raised) == 0;
    }
    case kEnvironment:
      return std::getenv("APPLICATIONS_SECRET") != nullptr;
    case kOwnThreads: {
      bool has_run = false;
      std::thread([&] { has_run = setpriority(PRIO_PROCESS, 0, 0) == 0 && raise(0) == 0; }).join();
      int ends[2] = {-1, -1};
      const bool has_pair = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
      return has_run && has_pair && closes(ends[0]) && closes(ends[1]);
    }
    default:
      return false;
  }
}

inline void look_around(float* found, uint64_t count) {
  for (uint32_t question = 0; question < count && question < kQuestions; ++question)
    found[question] = is_open(question) ? 1.0F : 0.0F;
}

}  // namespace fakes
