// SPDX-License-Identifier: Apache-2.0
// Forked children of a process that has opened providers. A child has its parent's memory and one
// thread. If nothing was going on in the parent, it can run the parent's sessions and make its own,
// on its callers' threads alone, with providers that say so in their manifests. Otherwise it must
// not use providers, and must not wait for a lock, which a thread of the parent may have held. Any
// thread.
#pragma once

#include <cstdint>
#include <memory>

namespace gantry {

/// A scope that holds locks or uses threads of the pool: a run, a load. A child that is forked
/// during it cannot go on. Its beginning waits while another thread forks.
class Activity {
 public:
  Activity() noexcept;
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
};

/// Starts watching for forks; called when the first provider is opened and when threads are
/// started. OUT_OF_MEMORY: the system has no room for one more handler.
void watch_forks();
/// True in a child that was forked after watch_forks() during an Activity, or while another thread
/// of the process was running: one of the pool may have held a lock of its own.
bool is_forked() noexcept;
/// Throws UNAVAILABLE in such a child.
void require_not_forked();
/// Number of forks after watch_forks() that lie between the process that called it and this one.
uint32_t fork_generation() noexcept;

/// A member of objects that have something which no child has: a thread, a device, a process.
class ProcessBound {
 public:
  /// True in a forked child of the process that made the object.
  [[nodiscard]] bool is_elsewhere() const noexcept { return generation_ != fork_generation(); }

 private:
  uint32_t generation_ = fork_generation();
};

/// For destructors of public classes: in a child as of is_forked() the object is leaked and not
/// destroyed, since its destructor takes locks and calls providers. Its pages are shared with the
/// parent.
template <class T>
void abandon_if_forked(std::unique_ptr<T>& object) noexcept {
  if (is_forked()) static_cast<void>(object.release());
}

}  // namespace gantry
