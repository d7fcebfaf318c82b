// SPDX-License-Identifier: Apache-2.0
#include "base/fork.h"

#include <gantry/error.h>

#include <atomic>
#include <pthread.h>

namespace gantry {
namespace {

std::atomic<bool> forked{false};

}  // namespace

void watch_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
  if (registered != 0)
    throw Error(Code::kOutOfMemory, "no memory to watch for forks of the process");
}

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

void require_not_forked() {
  if (is_forked()) {
    throw Error(
        Code::kUnavailable,
        "this process was forked from one that had opened gantry's providers, whose threads and "
        "devices stayed in the parent; start workers with spawn instead of fork, or fork before "
        "the first session");
  }
}

}  // namespace gantry
