// SPDX-License-Identifier: Apache-2.0
#include "families.h"

namespace gantry::cpu {

std::vector<sdk::KernelTable> all_kernels() {
#define GANTRY_FAMILY(folder, name) name##_kernels(),
  return {
#include "families.def"
  };
#undef GANTRY_FAMILY
}

}  // namespace gantry::cpu
