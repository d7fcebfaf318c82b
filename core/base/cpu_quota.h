// SPDX-License-Identifier: Apache-2.0
// The CPU quota of a process by Linux control groups. It limits containers, which otherwise see all
// CPUs of their machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace gantry {

/// The quota in CPUs, the least of the process's group and its parents; nothing: no limit is known.
/// `groups`: the text of /proc/self/cgroup; `root`: the mount point of version 2, with the
/// controllers of version 1 below it. Reads files.
std::optional<double> cpu_quota(std::string_view groups, const std::filesystem::path& root);

/// The quota of this process. Reads files.
std::optional<double> cpu_quota();

}  // namespace gantry
