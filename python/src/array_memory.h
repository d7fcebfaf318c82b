// SPDX-License-Identifier: Apache-2.0
// A NumPy allocator (NEP 49) over a session's memory: arrays that NumPy creates in a `with` block
// are in memory that the session's providers use without a copy. The block affects the thread or
// asyncio task that entered it. Arrays may outlive the block.
#pragma once

#include <nanobind/nanobind.h>
#include <vector>

namespace gantry::python {

/// The context manager that Session.arrays() returns. It may be entered several times, also nested.
class ArrayMemory {
 public:
  /// `session`: a Session, kept alive by this object and by every array.
  explicit ArrayMemory(nanobind::object session);

  /// Sets NumPy's allocator. Raises NumPy's errors.
  void enter();
  /// Restores the allocator from before the last enter().
  void exit();

 private:
  nanobind::object handler_;              // capsule of a PyDataMem_Handler
  std::vector<nanobind::object> before_;  // the previous allocator of each entered block
};

}  // namespace gantry::python
