// SPDX-License-Identifier: Apache-2.0
#include "gil.h"

#include <cxxabi.h>
#include <unistd.h>

namespace gantry::python {
namespace {

/// Calls take(). Does not return if the interpreter ends the thread in it.
template <class F>
void or_stay(F take) noexcept {
  try {
    take();
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
}

}  // namespace

GilRelease::~GilRelease() {
  or_stay([this] { PyEval_RestoreThread(state_); });
}

GilAcquire::GilAcquire() noexcept {
  or_stay([this] { state_ = PyGILState_Ensure(); });
}

}  // namespace gantry::python
