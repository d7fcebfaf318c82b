// SPDX-License-Identifier: Apache-2.0
// Normalisation of dense rows, inside of an operator's plan.
#pragma once

#include <utility>
#include <vector>

#include "../kernels/rows.h"
#include "operators.h"

namespace gantry::cuda {

/// What the kernel's text is made with.
struct NormTypes {
  uint32_t tensor;
  uint32_t scale;
  uint32_t mean;
  bool is_centered;
};

/// Plans the kernels. `parameters` are complete but for the shares, and `addresses` are of their
/// members.
void launch_norm(Planner& planner, NormParameters& parameters,
                 const std::vector<std::pair<const void* const*, Buffer>>& addresses,
                 const NormTypes& types);

}  // namespace gantry::cuda
