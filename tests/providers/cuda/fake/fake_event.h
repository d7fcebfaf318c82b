// SPDX-License-Identifier: Apache-2.0
// Events of the fake driver. Any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace gantry::test {

struct Event {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t recorded = 0;
    uint64_t completed = 0;
    void wait(uint64_t number) {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return completed >= number; });
    }
  };
  std::shared_ptr<State> state = std::make_shared<State>();
};

}  // namespace gantry::test
