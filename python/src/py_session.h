// SPDX-License-Identifier: Apache-2.0
// gantry.Session: a core session that takes and returns Python objects, owns the model's bytes, and
// cancels a run on Ctrl-C. All calls require the GIL, which is released while the core works.
// Several threads may call concurrently.
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

/// Cancels the runs that it was passed to, from any thread; stays set until reset().
class CancelToken {
 public:
  void cancel() { flag_.store(true); }
  void reset() { flag_.store(false); }
  [[nodiscard]] bool cancelled() const { return flag_.load(); }
  std::atomic<bool>& flag() { return flag_; }

 private:
  std::atomic<bool> flag_{false};
};

/// Options of a run with a timeout in seconds. Throws INVALID_ARGUMENT if it is not a valid number
/// of seconds.
RunOptions run_options(std::optional<double> timeout_s);

/// Calls `run` without the GIL, after setting `options` so that the token (may be null), Ctrl-C and
/// the timeout cancel it. After Ctrl-C it throws what Python's signal handler raises.
void run_interruptibly(RunOptions& options, CancelToken* token, const std::function<void()>& run);

class PySession {
 public:
  /// `outputs`: None or a sequence of names. `initializers`: None or a mapping from names to
  /// tensors. `timeout`: seconds. `token`: may be null. Errors as Session, and KeyboardInterrupt.
  PySession(nanobind::handle model, const std::optional<std::string>& device,
            nanobind::handle config, bool profile, nanobind::handle outputs,
            nanobind::handle initializers, std::optional<double> timeout, CancelToken* token);

  [[nodiscard]] const Session& session() const { return *session_; }
  [[nodiscard]] Session& session() { return *session_; }

  /// `inputs`: a dict from names to values. `outputs`: None or a sequence of names. `timeout`:
  /// seconds. `token`: may be null. The result is a dict from names to values. Errors as
  /// Session::run, and KeyboardInterrupt.
  nanobind::dict run(nanobind::handle inputs, nanobind::handle outputs,
                     std::optional<double> timeout, CancelToken* token);

  /// A numpy array over memory of Session::allocate. `shape`: None or a sequence of extents. Errors
  /// as Session::allocate.
  [[nodiscard]] nanobind::object empty(const std::string& name, nanobind::handle shape) const;

  /// As Session::allocate_on; `shape`: a sequence of extents.
  [[nodiscard]] Tensor allocate_on(const std::string& device, nanobind::handle dtype,
                                   nanobind::handle shape) const;
  /// As Session::borrow_on. The tensor keeps `owner` alive; if it is None, the caller must keep the
  /// memory valid.
  [[nodiscard]] Tensor borrow_on(const std::string& device, nanobind::handle dtype,
                                 nanobind::handle shape, uintptr_t address,
                                 nanobind::object owner) const;
  /// As tensor_from_dlpack(), but also throws INVALID_ARGUMENT for host memory.
  [[nodiscard]] Tensor from_dlpack(nanobind::handle object) const;

  /// Throws INVALID_ARGUMENT if the session was created without `profile`.
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
