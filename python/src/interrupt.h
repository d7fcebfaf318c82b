// SPDX-License-Identifier: Apache-2.0
// Ctrl-C during a run. Python's own handler only notes the signal for the interpreter, which does
// not get to look while a run computes without the interpreter's lock.
#pragma once

#include <atomic>
#include <csignal>

namespace gantry::python {

/// While it lives, an interrupt sets `cancel` and then does what it did before. Takes effect on the
/// thread that runs Python's signal handlers, where one lives at a time; elsewhere it does nothing.
/// Costs three short system calls.
class InterruptScope {
 public:
  /// `cancel` lives longer than the scope.
  InterruptScope(bool is_main_thread, std::atomic<bool>& cancel);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  bool installed_ = false;
};

/// True on the thread that runs Python's signal handlers. Needs the interpreter's lock.
bool is_main_thread();

}  // namespace gantry::python
