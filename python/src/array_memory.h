// SPDX-License-Identifier: Apache-2.0
// Memory of a session for NumPy's own arrays: in a `with` block whatever NumPy makes lies where the
// session's providers use it in place (NEP 49). The block holds for the thread, or task, that is in
// it; arrays outlive it.
#pragma once

#include <nanobind/nanobind.h>
#include <vector>

namespace gantry::python {

/// What Session.arrays() returns: a context manager, which may be entered again and again.
class ArrayMemory {
 public:
  /// `session`: a Session, kept while this or an array lives.
  explicit ArrayMemory(nanobind::object session);

  /// Makes the memory NumPy's. Errors of NumPy are raised.
  void enter();
  /// Makes that NumPy's again which was before the last enter.
  void exit();

 private:
  nanobind::object handler_;              // a capsule, as NumPy takes it
  std::vector<nanobind::object> before_;  // of each block that is entered
};

}  // namespace gantry::python
