// SPDX-License-Identifier: Apache-2.0
#include "process_memory.h"

#include <fstream>
#include <string>

namespace gantry::cli {
namespace {

// Value of a line `Key:   123 kB` of /proc/self/status, in bytes.
uint64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kibibytes = 0;
    if (word == key + ":" && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

}  // namespace

uint64_t resident_bytes() { return status_bytes("VmRSS"); }

uint64_t peak_resident_bytes() { return status_bytes("VmHWM"); }

}  // namespace gantry::cli
