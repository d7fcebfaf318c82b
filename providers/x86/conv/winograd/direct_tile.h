// SPDX-License-Identifier: Apache-2.0
// A tile of a 3 x 3 convolution by direct convolution, for inputs that the transforms would spread
// over all results of the tile: NaN, infinity, and values so large that sums of them overflow.
#pragma once

#include <cstdint>

#include "conv/winograd/code.h"
#include "conv/winograd/panels.h"

namespace gantry::x86::winograd {

/// A panel of packed weights (panels.h).
struct PanelOfWeights {
  const float* numbers = nullptr;
  Form form = Form::kTaps;
  Tile tile = Tile::k2;
  int64_t channels = 0;  ///< in whole vectors
  int64_t columns = 0;
};

/// Writes the sums, [tile, tile, columns], over the first `channels` channels at `pixels` (as in
/// InputTile). Taps are recovered from transformed weights: zeros exactly, others with an error of
/// some millionths of the largest. Requires finite weights that are not very large. [any]
void sum_directly(const float* const* pixels, int64_t channels, const PanelOfWeights& weights,
                  float* sums);

}  // namespace gantry::x86::winograd
