// SPDX-License-Identifier: Apache-2.0
// gantry.Session: a core session that takes and returns Python's values, keeps the model's bytes
// and ends a run on Ctrl-C. All calls need the interpreter's lock, which is released while the core
// works; several threads may call at once.
#pragma once

#include <gantry/session.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <nanobind/nanobind.h>
#include <optional>
#include <string>
#include <vector>

#include "model_source.h"

namespace gantry::python {

/// Ends the runs that were given it, from any thread; stays set until it is reset.
class CancelToken {
 public:
  void cancel() { flag_.store(true); }
  void reset() { flag_.store(false); }
  [[nodiscard]] bool cancelled() const { return flag_.load(); }
  std::atomic<bool>& flag() { return flag_; }

 private:
  std::atomic<bool> flag_{false};
};

/// What a run goes by, as Python gives it. INVALID_ARGUMENT: no seconds.
RunOptions run_options(std::optional<double> timeout_s);

/// Calls `run` without the interpreter's lock, with options by which the token, Ctrl-C and the
/// timeout end it. Ctrl-C: throws what Python's handler of it says.
void run_interruptibly(RunOptions& options, CancelToken* token, const std::function<void()>& run);

class PySession {
 public:
  /// `timeout`: seconds. `token`: may be null. Errors as Session, and KeyboardInterrupt.
  PySession(nanobind::handle model, const std::optional<std::string>& device,
            nanobind::handle config, bool profile, std::optional<double> timeout,
            CancelToken* token);

  [[nodiscard]] const Session& session() const { return *session_; }
  [[nodiscard]] Session& session() { return *session_; }

  /// `inputs`: a dict from names to values. `outputs`: None or a sequence of names. `timeout`:
  /// seconds. `token`: may be null. The result is a dict from names to values. Errors as
  /// Session::run, and KeyboardInterrupt.
  nanobind::dict run(nanobind::handle inputs, nanobind::handle outputs,
                     std::optional<double> timeout, CancelToken* token);

  /// A numpy array over Session::allocate. `shape`: None or a sequence of extents. Errors as it.
  [[nodiscard]] nanobind::object empty(const std::string& name, nanobind::handle shape) const;

  /// As Session::allocate_on; `shape`: a sequence of extents.
  [[nodiscard]] Tensor allocate_on(const std::string& device, nanobind::handle dtype,
                                   nanobind::handle shape) const;
  /// As Session::borrow_on; `owner` is kept as long as the tensor; None: the caller keeps it.
  [[nodiscard]] Tensor borrow_on(const std::string& device, nanobind::handle dtype,
                                 nanobind::handle shape, uintptr_t address,
                                 nanobind::object owner) const;
  /// As tensor_from_dlpack. INVALID_ARGUMENT: the object is in host memory, too.
  [[nodiscard]] Tensor from_dlpack(nanobind::handle object) const;

  /// INVALID_ARGUMENT: made without a profile.
  [[nodiscard]] std::vector<NodeTime> profile() const;
  void reset_profile();

 private:
  [[nodiscard]] Inputs to_inputs(nanobind::handle inputs) const;
  [[nodiscard]] std::vector<size_t> to_outputs(nanobind::handle outputs) const;

  GivenModel given_;
  bool has_profile_;
  std::optional<ChosenRuntime> runtime_;
  std::optional<Session> session_;
};

}  // namespace gantry::python
