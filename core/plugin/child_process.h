// SPDX-License-Identifier: Apache-2.0
// Starting a program of our own for a provider, and its end.
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

/// What becomes descriptor 0 to 3 of a child: a number of ours, or one of these.
constexpr int kNullDevice = -1;
constexpr int kInherited = -2;

/// Starts `program`, a path, with arguments behind its name. No signal is blocked or handled there,
/// and it leads a process group of its own: an interrupt from the keyboard is for the application,
/// and what the provider starts can be ended with it. Its log begins at the level that ours has.
/// `takes`: by name, whether it gets a variable of our environment; empty: it gets all of them.
/// Returns 0, or the errno value of what failed.
/// Thread-safe. Requires numbers above 3: a duplicate onto itself would be closed at the start.
int start_child(const std::string& program, std::vector<std::string> arguments,
                const std::array<int, 4>& descriptors, pid_t* child,
                const std::function<bool(std::string_view)>& takes = {});

/// A child that start_child() started, until its end. It is known by a descriptor: once somebody
/// has waited for it, as the system does for an application that ignores SIGCHLD, its number may be
/// another process's. Any thread.
class ChildWatch {
 public:
  ChildWatch() = default;
  /// error() says whether there is a descriptor for it.
  explicit ChildWatch(pid_t child);

  /// 0, or the errno value of why the child cannot be watched; it is ended then.
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] pid_t id() const { return child_; }
  /// Readable once it has ended; below 0: it had ended before it was watched.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  /// Waits for its end, at most that long.
  [[nodiscard]] bool has_ended(int timeout_ms = 0) const noexcept;
  /// Ends it, and what it started.
  void end() const noexcept;
  /// Waits for its end. `si_signo` is SIGCHLD if the system tells how it ended, else 0.
  siginfo_t wait() noexcept;

 private:
  pid_t child_ = -1;
  int error_ = 0;
  Descriptor descriptor_;
};

/// For the start of a program that start_child() starts: closes what the application left open for
/// its children, from descriptor 4 on. Requires that nothing of its own is open yet.
void close_inherited_descriptors() noexcept;

}  // namespace gantry
