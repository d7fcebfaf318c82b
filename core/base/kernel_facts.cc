// SPDX-License-Identifier: Apache-2.0
#include "base/kernel_facts.h"

#include <fstream>

namespace gantry {

KernelFacts kernel_facts(const std::filesystem::path& proc) {
  KernelFacts facts;
  std::ifstream(proc / "sys/kernel/random/boot_id") >> facts.boot;
  // The counter includes processes killed for a control group's limit.
  std::ifstream counters(proc / "vmstat");
  std::string name;
  int64_t count = 0;
  while (counters >> name >> count) {
    if (name == "oom_kill") facts.memory_kills = count;
  }
  return facts;
}

}  // namespace gantry
