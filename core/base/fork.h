// SPDX-License-Identifier: Apache-2.0
// Detects forked children of a process that has opened providers. The child does not have the
// providers' threads and devices, so it must not use providers. It must not wait for a lock either,
// which a thread of the parent may have held at the fork. Any thread.
#pragma once

#include <memory>

namespace gantry {

/// Starts watching for forks; called when the first provider is opened and when threads are
/// started. OUT_OF_MEMORY: the system has no room for one more handler.
void watch_forks();
/// True in a child that was forked after watch_forks().
bool is_forked() noexcept;
/// Throws UNAVAILABLE in such a child.
void require_not_forked();
/// For destructors of public classes: in such a child the object is leaked and not destroyed, since
/// its destructor takes locks and calls providers. Its pages are shared with the parent.
template <class T>
void abandon_if_forked(std::unique_ptr<T>& object) noexcept {
  if (is_forked()) static_cast<void>(object.release());
}

}  // namespace gantry
