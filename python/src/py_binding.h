// SPDX-License-Identifier: Apache-2.0
// gantry.Binding: the inputs and outputs of many runs of one session. One thread at a time: a call
// while another thread's goes on is an error, not a race. All calls need the interpreter's lock,
// which is released while the core works.
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
  /// `session`: a Session, kept while this lives.
  explicit PyBinding(nanobind::object session);

  /// As Binding::input, with values as PySession::run takes them.
  void input(const std::string& name, nanobind::handle value);
  /// As Binding::output, into a gantry.Tensor, a numpy array or what has __dlpack__.
  void output(const std::string& name, nanobind::object target);
  void output_on(const std::string& name, const std::string& device);
  /// Errors as PySession::run.
  void run(std::optional<double> timeout, CancelToken* token);
  /// What was bound as it was given, else as PySession::run returns it. Errors as Binding::result.
  [[nodiscard]] nanobind::object result(const std::string& name);

 private:
  class Turn;

  nanobind::object owner_;
  PySession& session_;
  Binding binding_;
  std::map<std::string, nanobind::object> targets_;  // as they were given, by output
  std::atomic<bool> is_busy_{false};
};

}  // namespace gantry::python
