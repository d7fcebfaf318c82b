// SPDX-License-Identifier: Apache-2.0
// What a worker may not do any more: reach the network, files beside those that its provider needs,
// or other processes. Call it in the first thread, before others are started.
#pragma once

#include <string>
#include <vector>

namespace gantry {

/// From here on this thread, and those that it starts, can make none of the calls of
/// seccomp_filter.h, write and shorten no file, call no device, and read only below the system's
/// library folders, the folders of `library` and of gantry, and what describes the machine. Of
/// root's rights it keeps those to read others' files there and to lock memory. `device_files`:
/// paths below /dev with * and ?; character devices that are there now, in folders that are named
/// too, stay open, and /sys can be read if one is named. The result says what of that the system
/// does not permit, one sentence; empty: all is in force.
std::string enter_sandbox(const std::string& library, const std::vector<std::string>& device_files);

}  // namespace gantry
