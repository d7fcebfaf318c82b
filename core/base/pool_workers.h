// SPDX-License-Identifier: Apache-2.0
// Limits the number of workers of the process's thread pool. A oneTBB worker that cannot start the
// next worker ends the process. So before the pool is used, as many threads as it may start are
// started and ended as a test; if the system refuses some, the pool is limited to the others.
#pragma once

#include <cstdint>

namespace gantry {

/// Reserves workers of the pool during its life. Any thread.
class PoolWorkers {
 public:
  /// Tests whether `count` workers can be started, unless as many were tested before. If not,
  /// limits the pool to the number that can, until a later test succeeds; the first failure is
  /// logged as a warning. `count` may exceed the number of cores.
  explicit PoolWorkers(uint32_t count);
  ~PoolWorkers();
  PoolWorkers(const PoolWorkers&) = delete;
  PoolWorkers& operator=(const PoolWorkers&) = delete;

  /// The number of workers, at most `count`, that the pool can provide.
  [[nodiscard]] uint32_t lent() const { return lent_; }

 private:
  const uint32_t count_;
  uint32_t lent_;
};

}  // namespace gantry
