// SPDX-License-Identifier: Apache-2.0
// Chooses between Winograd and oneDNN's direct convolution, by the cost model if that is clear,
// else by autotuning. Winograd's gain must outweigh its larger weights.
#pragma once

#include <optional>

#include "conv/winograd/convolution.h"

namespace gantry::x86::winograd {

/// The tile with which Winograd is faster for a convolution on `threads` threads; nothing: direct
/// convolution is as fast. If the cost model is not sure, the first call for a geometry and thread
/// count times both on synthetic tensors, for some milliseconds; the process caches the answer.
/// [any; one call measures at a time]
std::optional<Tile> faster_tile(const Geometry& geometry, int threads);

}  // namespace gantry::x86::winograd
