// SPDX-License-Identifier: Apache-2.0
// The sandbox of a worker (Landlock, seccomp, capabilities): no network, no files except those that
// its provider needs, no other processes. Call it in the first thread, before others are started.
#pragma once

#include <string>
#include <vector>

namespace gantry {

/// Restricts this thread and the threads that it starts:
/// - none of the calls of seccomp_filter.h;
/// - no writing or truncating of files, no ioctl on devices;
/// - reading only below the system's library folders, the folders of `library` and of gantry, and
///   files that describe the machine;
/// - of root's capabilities only those to read other users' files there and to lock memory.
/// `device_files`: paths below /dev, with * and ?, whose existing character devices stay
/// accessible, also in folders that match; if there is one, /sys can be read. Returns the parts
/// that the system does not permit, one sentence; empty: all restrictions are in force.
std::string enter_sandbox(const std::string& library, const std::vector<std::string>& device_files);

}  // namespace gantry
