// SPDX-License-Identifier: Apache-2.0
#include "base/linux_state.h"

#include <fstream>

namespace gantry {

LinuxState linux_state(const std::filesystem::path& proc) {
  LinuxState state;
  std::ifstream(proc / "sys/kernel/random/boot_id") >> state.boot;
  // The counter includes processes killed for a control group's limit.
  std::ifstream counters(proc / "vmstat");
  std::string name;
  int64_t count = 0;
  while (counters >> name >> count) {
    if (name == "oom_kill") state.memory_kills = count;
  }
  return state;
}

}  // namespace gantry
