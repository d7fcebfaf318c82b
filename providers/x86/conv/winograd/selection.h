// SPDX-License-Identifier: Apache-2.0
// Which convolutions are done by Winograd's filtering: those where it is faster than the library's
// direct convolution, by as much as its larger weights are worth. Most often that can be told by
// numbers; else it is measured.
#pragma once

#include <optional>

#include "conv/winograd/convolution.h"

namespace gantry::x86::winograd {

/// The tile to take for a convolution on `threads` threads; nothing: the library is as fast. Where
/// no forecast is sure, the first question for a geometry measures for some milliseconds, on
/// tensors made up for it; its answer is kept as long as the process lives. [any; one measures at a
/// time]
std::optional<Tile> faster_tile(const Geometry& geometry, int threads);

}  // namespace gantry::x86::winograd
