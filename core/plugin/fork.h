// SPDX-License-Identifier: Apache-2.0
// Forked children of a process that had opened providers: the providers' threads and devices stayed
// in the parent, so the child must not use them. Any thread.
#pragma once

namespace gantry {

/// Starts watching for forks; called when the first provider is opened and when threads are
/// started. OUT_OF_MEMORY: the system has no room for one more handler.
void watch_forks();
/// True in a child that was forked since.
bool is_forked() noexcept;
/// Throws UNAVAILABLE in such a child.
void require_not_forked();

}  // namespace gantry
