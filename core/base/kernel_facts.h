// SPDX-License-Identifier: Apache-2.0
// What the kernel says of the machine's life, by which a process that is gone is judged: a restart
// ends every process, and a machine without memory some.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gantry {

struct KernelFacts {
  std::string boot;                     ///< another one after each restart; empty: not known
  std::optional<int64_t> memory_kills;  ///< processes killed for want of memory since the restart
};

/// `proc`: where the kernel's files are mounted. Reads files; what cannot be read is not known.
KernelFacts kernel_facts(const std::filesystem::path& proc = "/proc");

}  // namespace gantry
