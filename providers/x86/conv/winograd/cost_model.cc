// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/cost_model.h"

#include <algorithm>

#include "simd/blocking.h"

namespace gantry::x86::winograd {
namespace {

/// Channels are rounded up to a multiple of this.
constexpr int64_t kVector = 16;
/// Tiles that share one transform of the weights, as in convolution.cc.

// In multiply-adds of the direct convolution. Measured with AVX-512 and AVX2, which agree within a
// tenth.
constexpr double kTransformOfTwo = 3.2e3;  // of a tile and a vector of channels, input or output
constexpr double kTransformOfFour = 10e3;
constexpr double kWeightsOfTwo = 4e3;  // of a channel's taps for a vector of filters
constexpr double kWeightsOfFour = 7e3;
/// Factor on the products if the transformed input does not fit the L2 cache.
constexpr double kFromBeyondCache = 1.5;

}  // namespace

double direct_cost(const Geometry& g) {
  return static_cast<double>(g.batch * g.out_height * g.out_width) *
         static_cast<double>(kTaps * g.channels * divided_up(g.filters, kVector) * kVector);
}

double own_cost(const Geometry& g, Tile tile, Form form) {
  const auto edge = static_cast<int64_t>(tile);
  const int64_t tiles = g.batch * divided_up(g.out_height, edge) * divided_up(g.out_width, edge);
  const int64_t inputs = divided_up(g.channels, kVector);
  const int64_t outputs = divided_up(g.filters, kVector);
  const bool is_four = tile == Tile::k4;
  double cost = static_cast<double>(tiles * positions_of(tile)) *
                static_cast<double>(inputs * kVector * outputs * kVector);
  const int64_t elements = positions_of(tile) * std::min(tiles, kMostTiles) * g.channels;
  const bool is_taps = form == Form::kTaps;
  if (is_taps && elements > cache_elements()) cost *= kFromBeyondCache;
  cost += static_cast<double>(tiles * (inputs + outputs)) *
          (is_four ? kTransformOfFour : kTransformOfTwo);
  if (is_taps) {
    cost += static_cast<double>(divided_up(tiles, kMostTiles) * g.channels * outputs) *
            (is_four ? kWeightsOfFour : kWeightsOfTwo);
  }
  return cost;
}

}  // namespace gantry::x86::winograd
