// SPDX-License-Identifier: Apache-2.0
// gantry.Binding: inputs and outputs bound for many runs of one session. Used by one thread at a
// time; a concurrent call throws INVALID_ARGUMENT. All calls require the GIL, which is released
// while the core works.
#pragma once

#include <gantry/session.h>

#include <atomic>
#include <map>
#include <nanobind/nanobind.h>
#include <optional>
#include <string>

#include "py_session.h"

namespace gantry::python {

class PyBinding {
 public:
  /// `session`: a Session, kept alive by this object.
  explicit PyBinding(nanobind::object session);

  /// As Binding::input, with values as PySession::run takes them.
  void input(const std::string& name, nanobind::handle value);
  /// As Binding::output, into a gantry.Tensor, a numpy array or an object with __dlpack__.
  void output(const std::string& name, nanobind::object target);
  /// As Binding::output_on.
  void output_on(const std::string& name, const std::string& device);
  /// Errors as PySession::run.
  void run(std::optional<double> timeout, CancelToken* token);
  /// The object that was bound to the output, otherwise a value as PySession::run() returns it.
  /// Errors as Binding::result.
  [[nodiscard]] nanobind::object result(const std::string& name);

 private:
  class CallGuard;

  nanobind::object owner_;
  PySession& session_;
  Binding binding_;
  std::map<std::string, nanobind::object> targets_;  // bound objects by output name
  std::atomic<bool> is_busy_{false};
};

}  // namespace gantry::python
