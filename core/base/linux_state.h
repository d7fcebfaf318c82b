// SPDX-License-Identifier: Apache-2.0
// State of the Linux kernel that tells why an earlier process ended: a restart of the machine, or
// the out-of-memory killer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gantry {

struct LinuxState {
  std::string boot;                     ///< boot id, new after each restart; empty: not known
  std::optional<int64_t> memory_kills;  ///< processes killed for lack of memory since the restart
};

/// `proc`: mount point of procfs. Reads files; what cannot be read is not known.
LinuxState linux_state(const std::filesystem::path& proc = "/proc");

}  // namespace gantry
