// SPDX-License-Identifier: Apache-2.0
// What a worker may not do any more: reach the network, or files beside those that its provider
// needs. Call it in the first thread, before others are started.
#pragma once

#include <string>

namespace gantry {

/// From here on this thread, and those that it starts, can make no sockets but local pairs, write
/// no file, and read and execute only below the system's library folders, the folders of `library`
/// and of gantry, and what describes the machine. The result says what of that the system does not
/// permit, one sentence; empty: all is in force.
std::string enter_sandbox(const std::string& library);

}  // namespace gantry
