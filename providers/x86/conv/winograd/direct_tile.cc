// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/direct_tile.h"

#include <algorithm>
#include <array>

namespace gantry::x86::winograd {
namespace {

constexpr int kSide = 3;

/// How a tap is recovered from the transformed weights of a line: (first - second) * factor.
struct Restored {
  int first;
  int second;  ///< -1: none
  float factor;
};

std::array<Restored, kSide> restored_of(Tile tile) {
  if (tile == Tile::k2) return {{{0, -1, 1}, {1, 2, 1}, {3, -1, 1}}};
  constexpr double kInner2 = double{kInner} * kInner;
  constexpr double kOuter2 = double{kOuter} * kOuter;
  constexpr double kDistance = kInner2 - kOuter2;
  // The reciprocals of what transform_taps (transforms.h) multiplies with.
  return {{{0, -1, static_cast<float>(kInner2 * kOuter2)},
           {1, 2, static_cast<float>(kInner * kDistance)},
           {5, -1, 1}}};
}

/// The taps of one channel, [kTaps, columns].
void restore(const PanelOfWeights& weights, int64_t channel, float* taps) {
  const std::array<Restored, kSide> restored = restored_of(weights.tile);
  const int extent = extent_of(weights.tile);
  const int64_t position = weights.channels * weights.columns;  // elements
  const float* const numbers = weights.numbers + channel * weights.columns;
  for (const Restored& row : restored) {
    for (const Restored& column : restored) {
      const auto along = [&](int y, int64_t i) {
        const float* const line = numbers + y * extent * position + i;
        const float first = line[column.first * position];
        return column.second < 0 ? first : first - line[column.second * position];
      };
      for (int64_t i = 0; i < weights.columns; ++i) {
        const float second = row.second < 0 ? 0.0F : along(row.second, i);
        *taps++ = (along(row.first, i) - second) * (row.factor * column.factor);
      }
    }
  }
}

}  // namespace

void sum_directly(const float* const* pixels, int64_t channels, const PanelOfWeights& weights,
                  float* sums) {
  const int size = static_cast<int>(weights.tile);
  const int extent = extent_of(weights.tile);
  const int64_t columns = weights.columns;
  std::fill_n(sums, size * size * columns, 0.0F);
  std::array<float, static_cast<size_t>(kTaps) * kMostColumns> memory{};
  for (int64_t channel = 0; channel < channels; ++channel) {
    const float* taps = weights.numbers + channel * kTaps * columns;
    if (weights.form == Form::kTransformed) {
      restore(weights, channel, memory.data());
      taps = memory.data();
    }
    for (int result = 0; result < size * size; ++result) {
      float* const sum = sums + result * columns;
      const int corner = result / size * extent + result % size;
      for (int tap = 0; tap < kTaps; ++tap) {
        const float x = pixels[corner + tap / kSide * extent + tap % kSide][channel];
        for (int64_t i = 0; i < columns; ++i) sum[i] += x * taps[tap * columns + i];
      }
    }
  }
}

}  // namespace gantry::x86::winograd
