// SPDX-License-Identifier: Apache-2.0
// The interpreter's lock, given up and taken, also by threads that the end of the program leaves
// behind: an interpreter that ends ends whoever still asks for its lock (daemon threads, up to
// Python 3.13) by unwinding his stack, which the destructors of C++ do not let pass, so that the
// whole process would abort. Here such a thread stays where it is until the process has ended.
#pragma once

#include <nanobind/nanobind.h>

namespace gantry::python {

/// Gives the lock up while it lives. The thread has it before and after.
class Unlocked {
 public:
  Unlocked() noexcept : state_(PyEval_SaveThread()) {}
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

/// Has the lock while it lives, on any thread, whether that has it already or not. The interpreter
/// must not have ended (Py_IsInitialized).
class Locked {
 public:
  Locked() noexcept;
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace gantry::python
