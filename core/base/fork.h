// SPDX-License-Identifier: Apache-2.0
// Forked children of a process that had opened providers: the providers' threads and devices stayed
// in the parent, so the child must not use them. Nor may it wait for a lock, which a thread of the
// parent may have held when it forked. Any thread.
#pragma once

#include <memory>

namespace gantry {

/// Starts watching for forks; called when the first provider is opened and when threads are
/// started. OUT_OF_MEMORY: the system has no room for one more handler.
void watch_forks();
/// True in a child that was forked since.
bool is_forked() noexcept;
/// Throws UNAVAILABLE in such a child.
void require_not_forked();
/// For the destructors of what applications hold: in such a child the object is never destroyed,
/// since its destructor takes locks and calls providers. Its memory is the parent's, not copied.
template <class T>
void abandon_if_forked(std::unique_ptr<T>& object) noexcept {
  if (is_forked()) static_cast<void>(object.release());
}

}  // namespace gantry
