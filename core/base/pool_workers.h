// SPDX-License-Identifier: Apache-2.0
// How many workers the process's thread pool may make. A worker of oneTBB that cannot make the next
// one ends the process. So before the pool is used, as many threads as it may make are made at once
// and ended; where the system refuses some, the pool is held to the rest.
#pragma once

#include <cstdint>

namespace gantry {

/// Workers that somebody is going to ask the pool for while this lives. Any thread.
class PoolWorkers {
 public:
  /// Tries them, unless as many were tried before. If they cannot all be made, the pool makes no
  /// more than can, until a later try goes well; the first time there is a warning on the log.
  /// `count`: more than there are cores lets the pool make more than that.
  explicit PoolWorkers(uint32_t count);
  ~PoolWorkers();
  PoolWorkers(const PoolWorkers&) = delete;
  PoolWorkers& operator=(const PoolWorkers&) = delete;

  /// How many of `count` the pool can lend.
  [[nodiscard]] uint32_t lent() const { return lent_; }

 private:
  const uint32_t count_;
  uint32_t lent_;
};

}  // namespace gantry
