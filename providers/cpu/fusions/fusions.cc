// SPDX-License-Identifier: Apache-2.0
#include "fusions/fusions.h"

#include <vector>

namespace gantry::cpu {

sdk::FusionTable fusions() {
#define GANTRY_FUSION(name) name(),
  static const std::vector<sdk::FusionRow> kRows = {
#include "fusions/fusions.def"
  };
#undef GANTRY_FUSION
  return {kRows.data(), kRows.size()};
}

}  // namespace gantry::cpu
