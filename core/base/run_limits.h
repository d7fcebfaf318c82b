// SPDX-License-Identifier: Apache-2.0
// When a run, or the loading of a model, is to stop before it has ended: cancelled by its caller,
// or out of time.
#pragma once

#include <gantry/error.h>
#include <gantry/session.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gantry {

/// From the moment when it is made.
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
  /// 0, or the code with which to stop.
  [[nodiscard]] Code stop_code() const noexcept { return can_stop() ? asked_code() : Code::kOk; }
  /// What is left of them, for a run that is part of the work.
  [[nodiscard]] RunOptions remaining() const noexcept;

 private:
  void set_deadline(uint64_t timeout_ns);
  [[nodiscard]] Code asked_code() const noexcept;
};

/// While it lives, what this thread loads is held to these limits, which must outlive it. Threads
/// that take over a part of the work have a scope of their own. Null: no limits.
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
/// Between the parts of loading: throws CANCELLED or DEADLINE_EXCEEDED if it is to stop; `step`
/// says what would have come next.
void poll_load(std::string_view step);

}  // namespace gantry
