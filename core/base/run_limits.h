// SPDX-License-Identifier: Apache-2.0
// The limits of a run or of loading a model: cancellation and deadline.
#pragma once

#include <gantry/error.h>
#include <gantry/session.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gantry {

/// Cancellation flag and deadline; the timeout counts from construction.
struct RunLimits {
  const std::atomic<bool>* cancel = nullptr;
  std::chrono::steady_clock::time_point deadline = {};
  bool has_deadline = false;

  RunLimits() = default;
  RunLimits(const std::atomic<bool>* given, std::optional<uint64_t> timeout_ns)
      : cancel(given), has_deadline(timeout_ns.has_value()) {
    if (has_deadline) set_deadline(*timeout_ns);
  }
  explicit RunLimits(const RunOptions& options) : RunLimits(options.cancel, options.timeout_ns) {}
  [[nodiscard]] bool can_stop() const noexcept { return cancel || has_deadline; }
  /// kOk, or the code with which to stop: kCancelled or kDeadlineExceeded.
  [[nodiscard]] Code stop_code() const noexcept { return can_stop() ? asked_code() : Code::kOk; }
  /// The limits with the remaining time, for a run that is part of the work.
  [[nodiscard]] RunOptions remaining() const noexcept;

 private:
  void set_deadline(uint64_t timeout_ns);
  [[nodiscard]] Code asked_code() const noexcept;
};

/// During its life these limits, which must outlive it, apply to loading on this thread. Other
/// threads that do a part of the work need a scope of their own. Null: no limits.
class LoadScope {
 public:
  explicit LoadScope(const RunLimits* limits) noexcept;
  ~LoadScope();
  LoadScope(const LoadScope&) = delete;
  LoadScope& operator=(const LoadScope&) = delete;

 private:
  const RunLimits* outer_;
};

/// The limits of this thread's scope; null: none.
const RunLimits* load_limits() noexcept;
/// Called between the steps of loading: throws CANCELLED or DEADLINE_EXCEEDED if loading must stop;
/// `step`: the next step, for the message.
void poll_load(std::string_view step);

}  // namespace gantry
