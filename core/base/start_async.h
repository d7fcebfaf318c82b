// SPDX-License-Identifier: Apache-2.0
// Work that goes on beside the caller's. Any thread.
#pragma once

#include <future>
#include <system_error>

#include "base/fork.h"

namespace gantry {

/// Starts `work()` on a new thread; where none can be started, the first get() or wait() on the
/// future runs it instead. std::bad_alloc. The future holds what the work returns or throws.
template <class Work>
auto start_async(const Work& work) {
  const auto watched = [work] {
    const Activity activity;
    return work();
  };
  try {
    return std::async(std::launch::async, watched);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, watched);
  }
}

}  // namespace gantry
