// SPDX-License-Identifier: Apache-2.0
#include "base/run_limits.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gantry {
namespace {

thread_local const RunLimits* limits_of_load = nullptr;

}  // namespace

RunOptions RunLimits::remaining() const noexcept {
  RunOptions options;
  options.cancel = cancel;
  if (has_deadline) {
    const auto left = deadline - std::chrono::steady_clock::now();
    options.timeout_ns = static_cast<uint64_t>(
        std::max<int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(left).count(), 0));
  }
  return options;
}

void RunLimits::set_deadline(uint64_t timeout_ns) {
  const uint64_t most =
      static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::hours(24 * 365)).count());
  deadline =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, most));
}

Code RunLimits::asked_code() const noexcept {
  if (cancel && cancel->load(std::memory_order_relaxed)) return Code::kCancelled;
  if (has_deadline && std::chrono::steady_clock::now() > deadline) return Code::kDeadlineExceeded;
  return Code::kOk;
}

LoadScope::LoadScope(const RunLimits* limits) noexcept
    : outer_(std::exchange(limits_of_load, limits)) {}

LoadScope::~LoadScope() { limits_of_load = outer_; }

const RunLimits* load_limits() noexcept { return limits_of_load; }

void poll_load(std::string_view step) {
  const Code code = limits_of_load ? limits_of_load->stop_code() : Code::kOk;
  if (code == Code::kOk) return;
  throw Error(code, std::string(code == Code::kCancelled
                                    ? "loading was cancelled before "
                                    : "loading did not end within its timeout: it was before ") +
                        std::string(step));
}

}  // namespace gantry
