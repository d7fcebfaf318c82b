// SPDX-License-Identifier: Apache-2.0
#include "device_copies.h"

namespace gantry::checks {

std::vector<char> pattern(uint64_t size_bytes, uint32_t seed) {
  std::vector<char> bytes(size_bytes);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + seed * 101);
  return bytes;
}

}  // namespace gantry::checks
