// SPDX-License-Identifier: Apache-2.0
// Normalisation of dense rows as a step of other operators.
#pragma once

#include <utility>
#include <vector>

#include "kernels/rows.h"
#include "operators/operators.h"

namespace gantry::cuda {

/// Element types of the kernel.
struct NormTypes {
  uint32_t tensor;
  uint32_t scale;
  uint32_t mean;
  bool is_centered;
};

/// Plans the launches. `parameters`: complete but for `shares`; `addresses`: of their members.
void launch_norm(Planner& planner, NormParameters& parameters,
                 const std::vector<std::pair<const void* const*, Buffer>>& addresses,
                 const NormTypes& types);

}  // namespace gantry::cuda
