// SPDX-License-Identifier: Apache-2.0
// Ctrl-C during a run. Python's signal handler only sets a flag, which the interpreter does not
// check while a run computes without the GIL.
#pragma once

#include <atomic>
#include <csignal>

namespace gantry::python {

/// During its lifetime SIGINT sets `cancel`, then calls the previous handler. Has an effect only if
/// `is_main_thread`, and one scope may exist there at a time. Costs three short system calls.
class InterruptScope {
 public:
  /// `cancel` must outlive the scope.
  InterruptScope(bool is_main_thread, std::atomic<bool>& cancel);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  bool installed_ = false;
};

/// True on the thread that runs Python's signal handlers. Requires the GIL.
bool is_main_thread();

}  // namespace gantry::python
