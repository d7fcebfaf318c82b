// SPDX-License-Identifier: Apache-2.0
// Releases and acquires the GIL, also on daemon threads at exit. Up to Python 3.13 a finalizing
// interpreter ends a thread that requests the GIL by unwinding its stack. C++ destructors would
// turn that into an abort of the process, so such a thread blocks here until the process ends.
#pragma once

#include <nanobind/nanobind.h>

namespace gantry::python {

/// Releases the GIL for its lifetime. Requires that the thread holds the GIL; the destructor
/// acquires it again.
class GilRelease {
 public:
  GilRelease() noexcept : state_(PyEval_SaveThread()) {}
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

/// Holds the GIL for its lifetime, on any thread, whether or not the thread holds it already.
/// Requires Py_IsInitialized().
class GilAcquire {
 public:
  GilAcquire() noexcept;
  ~GilAcquire() { PyGILState_Release(state_); }
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace gantry::python
