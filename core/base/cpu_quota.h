// SPDX-License-Identifier: Apache-2.0
// How much CPU time the control groups of Linux leave a process: containers are limited so, and see
// all CPUs of their machine all the same.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace gantry {

/// CPUs that may be busy at a time on average; nothing: no limit is known. The least of the
/// process's group and those above it. `groups`: the text of /proc/self/cgroup; `root`: where
/// version 2 is mounted, and the controllers of version 1 below it. Reads files.
std::optional<double> cpu_quota(std::string_view groups, const std::filesystem::path& root);

/// Of this process. Reads files.
std::optional<double> cpu_quota();

}  // namespace gantry
