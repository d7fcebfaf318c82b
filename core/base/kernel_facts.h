// SPDX-License-Identifier: Apache-2.0
// Facts of the Linux kernel that tell why an earlier process ended: a restart of the machine, or
// the out-of-memory killer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gantry {

struct KernelFacts {
  std::string boot;                     ///< boot id, new after each restart; empty: not known
  std::optional<int64_t> memory_kills;  ///< processes killed for lack of memory since the restart
};

/// `proc`: mount point of procfs. Reads files; a fact that cannot be read is not known.
KernelFacts kernel_facts(const std::filesystem::path& proc = "/proc");

}  // namespace gantry
