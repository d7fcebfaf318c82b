// SPDX-License-Identifier: Apache-2.0
// A tile of a convolution of 3 x 3 by its definition, for numbers that the transforms would spread
// over all results of the tile: NaN, infinity, and what is so large that sums of it overflow.
#pragma once

#include <cstdint>

#include "conv/winograd/code.h"
#include "conv/winograd/panels.h"

namespace gantry::x86::winograd {

/// A panel of weights in a form.
struct PanelOfWeights {
  const float* numbers = nullptr;
  Form form = Form::kTaps;
  Tile tile = Tile::k2;
  int64_t channels = 0;  ///< in whole vectors
  int64_t columns = 0;
};

/// Sums, [tile, tile, columns], of the first `channels` channels at `places`, as an InputTile has
/// them. Taps of weights that were transformed are restored: zeros are zeros again, others have an
/// error of some millionths of the largest. Requires ordinary weights.
void sum_directly(const float* const* places, int64_t channels, const PanelOfWeights& weights,
                  float* sums);

}  // namespace gantry::x86::winograd
