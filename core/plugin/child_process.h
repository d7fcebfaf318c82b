// SPDX-License-Identifier: Apache-2.0
// Starts a helper program of gantry as a child process, and watches it until its end.
#pragma once

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/descriptor.h"

namespace gantry {

/// Descriptors 0 to 3 of a child: each is a descriptor of this process, or one of these.
constexpr int kNullDevice = -1;
constexpr int kInherited = -2;

/// Starts `program`, a path, with arguments after its name. The child has no blocked or handled
/// signals. It leads a process group of its own: a keyboard interrupt goes to the application only,
/// and processes that the provider starts can be ended with the child. Its log level is the current
/// one. `takes`: whether the child gets the environment variable of that name; empty: all.
/// Returns 0 or an errno value. Thread-safe. Requires descriptors above 3: one duplicated onto
/// itself would be closed at the start.
int start_child(const std::string& program, std::vector<std::string> arguments,
                const std::array<int, 4>& descriptors, pid_t* child,
                const std::function<bool(std::string_view)>& takes = {});

/// Watches a child of start_child() until its end, by a pidfd: once the child has been waited for,
/// which the system does itself if the application ignores SIGCHLD, its process id may be reused.
/// Where there is none (Linux before 5.4, a container that forbids it, no descriptor left) it is
/// watched by its process id, of which it is asked each millisecond. Any thread.
class ChildWatch {
 public:
  ChildWatch() = default;
  explicit ChildWatch(pid_t child);

  [[nodiscard]] pid_t id() const { return child_; }
  /// Waits for its end, at most that long; below 0: for ever.
  [[nodiscard]] bool has_ended(int timeout_ms = 0) const noexcept;
  /// Ends the child and its process group.
  void end() const noexcept;
  /// Waits for its end. `si_signo` is SIGCHLD if the system reports how it ended, else 0.
  siginfo_t wait() noexcept;

 private:
  static constexpr pid_t kGone = -1;  // has been waited for
  /// Calls waitid() for an ended child.
  int ask(siginfo_t& state, int options) const noexcept;

  pid_t child_ = kGone;
  Descriptor pidfd_;
};

/// Called first by a program that start_child() starts: closes the descriptors from 4 on, which the
/// application left open for its children. Requires that the program has opened none itself.
void close_inherited_descriptors() noexcept;

}  // namespace gantry
