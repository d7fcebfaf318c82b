// SPDX-License-Identifier: Apache-2.0
// Cost model for Winograd against oneDNN's direct convolution, so that nothing is timed if the
// choice is clear. The unit is one multiply-add of the direct convolution, which makes costs
// independent of the vector width (docs/decisions/0026). Pure functions.
#pragma once

#include <cstdint>

#include "conv/winograd/convolution.h"

namespace gantry::x86::winograd {

/// Cost of the direct convolution, output channels being rounded up to whole vectors.
double direct_cost(const Geometry& geometry);

/// Cost of Winograd: products, transforms of input and results and, with Form::kTaps, of weights.
double own_cost(const Geometry& geometry, Tile tile, Form form);

}  // namespace gantry::x86::winograd
