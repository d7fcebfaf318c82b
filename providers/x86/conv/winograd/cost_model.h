// SPDX-License-Identifier: Apache-2.0
// What a convolution by Winograd's filtering costs by its numbers, so that nothing has to be
// measured where the answer is plain. Costs are counted in multiplications of the library's direct
// convolution, so that they hold for vectors of any width (docs/decisions/0026).
#pragma once

#include <cstdint>

#include "conv/winograd/convolution.h"

namespace gantry::x86::winograd {

/// Of the direct convolution: channels are multiplied in whole vectors.
double direct_cost(const Geometry& geometry);

/// Of this provider's own: products, transforms of input and results and, where they are kept as
/// taps, of weights.
double own_cost(const Geometry& geometry, Tile tile, Form form);

}  // namespace gantry::x86::winograd
