// SPDX-License-Identifier: Apache-2.0
// The functions of winograd/code.h for one instruction set. To be included once by a source that
// has defined GANTRY_TARGET, the attribute of functions that may use its instructions,
// GANTRY_INSTRUCTIONS, a namespace of its own, and there kLanes, kVectors (of a panel) and
// kMostRows. No other source has that namespace, so no instruction leaks into what others call.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "winograd/code.h"
#include "winograd/steps.h"
#include "winograd/vectors.h"

namespace gantry::onednn::winograd::GANTRY_INSTRUCTIONS {

inline constexpr float kInner2 = kInner * kInner;
inline constexpr float kOuter2 = kOuter * kOuter;

/// Transforms a line of a tile's input: `d` and `v` in steps of `from` and `to`.
template <int kFrom, int kTo>
GANTRY_TARGET inline void transform_line(std::integral_constant<int, 2>, const Vector* d,
                                         Vector* v) {
  v[0 * kTo] = d[0 * kFrom] - d[2 * kFrom];
  v[1 * kTo] = d[1 * kFrom] + d[2 * kFrom];
  v[2 * kTo] = d[2 * kFrom] - d[1 * kFrom];
  v[3 * kTo] = d[1 * kFrom] - d[3 * kFrom];
}

template <int kFrom, int kTo>
GANTRY_TARGET inline void transform_line(std::integral_constant<int, 4>, const Vector* d,
                                         Vector* v) {
  constexpr float kSum = kInner2 + kOuter2;
  constexpr float kBoth = kInner2 * kOuter2;
  const Vector d1 = d[1 * kFrom];
  const Vector d2 = d[2 * kFrom];
  const Vector d3 = d[3 * kFrom];
  const Vector d4 = d[4 * kFrom];
  const Vector inner_even = d4 - kOuter2 * d2;
  const Vector inner_odd = d3 - kOuter2 * d1;
  const Vector outer_even = d4 - kInner2 * d2;
  const Vector outer_odd = d3 - kInner2 * d1;
  v[0 * kTo] = kBoth * d[0 * kFrom] + (d4 - kSum * d2);
  v[1 * kTo] = inner_even + kInner * inner_odd;
  v[2 * kTo] = inner_even - kInner * inner_odd;
  v[3 * kTo] = outer_even + kOuter * outer_odd;
  v[4 * kTo] = outer_even - kOuter * outer_odd;
  v[5 * kTo] = kBoth * d1 + (d[5 * kFrom] - kSum * d3);
}

/// Transforms a line of three taps.
template <int kFrom, int kTo>
GANTRY_TARGET inline void transform_taps(std::integral_constant<int, 2>, const Vector* g,
                                         Vector* u) {
  const Vector outer = 0.5F * (g[0 * kFrom] + g[2 * kFrom]);
  const Vector middle = 0.5F * g[1 * kFrom];
  u[0 * kTo] = g[0 * kFrom];
  u[1 * kTo] = outer + middle;
  u[2 * kTo] = outer - middle;
  u[3 * kTo] = g[2 * kFrom];
}

template <int kFrom, int kTo>
GANTRY_TARGET inline void transform_taps(std::integral_constant<int, 4>, const Vector* g,
                                         Vector* u) {
  constexpr double kDistance = double{kInner2} - double{kOuter2};
  constexpr auto kZero = static_cast<float>(1 / (double{kInner2} * kOuter2));
  constexpr auto kOfInner = static_cast<float>(1 / (2 * kInner2 * kDistance));
  constexpr auto kOfOuter = static_cast<float>(1 / (2 * kOuter2 * -kDistance));
  const Vector inner_even = kOfInner * (g[0 * kFrom] + kInner2 * g[2 * kFrom]);
  const Vector inner_odd = kOfInner * (kInner * g[1 * kFrom]);
  const Vector outer_even = kOfOuter * (g[0 * kFrom] + kOuter2 * g[2 * kFrom]);
  const Vector outer_odd = kOfOuter * (kOuter * g[1 * kFrom]);
  u[0 * kTo] = kZero * g[0 * kFrom];
  u[1 * kTo] = inner_even + inner_odd;
  u[2 * kTo] = inner_even - inner_odd;
  u[3 * kTo] = outer_even + outer_odd;
  u[4 * kTo] = outer_even - outer_odd;
  u[5 * kTo] = g[2 * kFrom];
}

/// Transforms a line of products back.
template <int kFrom, int kTo>
GANTRY_TARGET inline void restore_line(std::integral_constant<int, 2>, const Vector* m, Vector* y) {
  y[0 * kTo] = m[0 * kFrom] + m[1 * kFrom] + m[2 * kFrom];
  y[1 * kTo] = m[1 * kFrom] - m[2 * kFrom] - m[3 * kFrom];
}

template <int kFrom, int kTo>
GANTRY_TARGET inline void restore_line(std::integral_constant<int, 4>, const Vector* m, Vector* y) {
  const Vector inner_sum = m[1 * kFrom] + m[2 * kFrom];
  const Vector inner_difference = m[1 * kFrom] - m[2 * kFrom];
  const Vector outer_sum = m[3 * kFrom] + m[4 * kFrom];
  const Vector outer_difference = m[3 * kFrom] - m[4 * kFrom];
  y[0 * kTo] = m[0 * kFrom] + inner_sum + outer_sum;
  y[1 * kTo] = kInner * inner_difference + kOuter * outer_difference;
  y[2 * kTo] = kInner2 * inner_sum + kOuter2 * outer_sum;
  y[3 * kTo] =
      kInner * kInner2 * inner_difference + (kOuter * kOuter2 * outer_difference + m[5 * kFrom]);
}

template <int kTile>
GANTRY_TARGET void transform_input(const InputTile& tile) {
  constexpr int kExtent = kTile + 2;
  constexpr std::integral_constant<int, kTile> kSize;
  const int64_t position_stride = tile.position_stride;
  float* target = tile.target;
  for (int64_t channel = 0; channel < tile.channels; channel += kLanes) {
    const int64_t count = tile.channels - channel;
    Vector lines[kExtent * kExtent];
    for (int column = 0; column < kExtent; ++column) {
      Vector line[kExtent];
      for (int row = 0; row < kExtent; ++row)
        line[row] = load_some(tile.places[row * kExtent + column] + channel, count);
      transform_line<1, kExtent>(kSize, line, lines + column);
    }
    float* to = target;
    for (int row = 0; row < kExtent; ++row) {
      Vector line[kExtent];
      transform_line<1, 1>(kSize, lines + row * kExtent, line);
      for (int column = 0; column < kExtent; ++column) {
        store(line[column], to);
        to += position_stride;
      }
    }
    target += tile.block_stride;
  }
}

template <int kTile>
GANTRY_TARGET void transform_weights(const TapPanel& panel) {
  constexpr int kExtent = kTile + 2;
  constexpr int kSide = 3;
  constexpr std::integral_constant<int, kTile> kSize;
  const int64_t count = panel.channels * kVectors;
  for (int64_t i = 0; i < count; ++i) {
    const float* taps = panel.taps + i / kVectors * kTaps * kColumns + i % kVectors * kLanes;
    Vector lines[kExtent * kSide];
    for (int column = 0; column < kSide; ++column) {
      Vector line[kSide];
      for (int row = 0; row < kSide; ++row)
        line[row] = load(taps + (row * kSide + column) * kColumns);
      transform_taps<1, kSide>(kSize, line, lines + column);
    }
    float* target = panel.target + i * kLanes;
    for (int row = 0; row < kExtent; ++row) {
      Vector line[kExtent];
      transform_taps<1, 1>(kSize, lines + row * kSide, line);
      for (int column = 0; column < kExtent; ++column) {
        store(line[column], target);
        target += panel.position_stride;
      }
    }
  }
}

/// A row of results to the output. `kIsWhole`: all of them exist, and all lanes.
template <int kTile, bool kIsWhole>
GANTRY_TARGET inline void finish_row(const OutputTile& tile, int64_t place, int64_t count,
                                     Vector* y) {
  for (int step = 0; step < tile.step_count; ++step) {
    take_step<kTile, kIsWhole>(tile.steps[step], tile, tile.addend + place, count, y);
  }
  float* target = tile.target + place;
  const int columns = kIsWhole ? kTile : tile.columns;
  for (int i = 0; i < columns; ++i) {
    if (kIsWhole) {
      store(y[i], target);
    } else {
      store_some(y[i], target, count);
    }
    target += tile.column_stride;
  }
}

template <int kTile>
GANTRY_TARGET void transform_output(const OutputTile& tile) {
  constexpr int kExtent = kTile + 2;
  constexpr std::integral_constant<int, kTile> kSize;
  for (int64_t channel = 0; channel < tile.channels; channel += kLanes) {
    const int64_t count = tile.channels - channel;
    Vector lines[kTile * kExtent];
    for (int column = 0; column < kExtent; ++column) {
      Vector line[kExtent];
      for (int row = 0; row < kExtent; ++row)
        line[row] = load(tile.products + (row * kExtent + column) * tile.position_stride + channel);
      restore_line<1, kExtent>(kSize, line, lines + column);
    }
    const Vector bias = load(tile.bias + channel);
    for (int row = 0; row < tile.rows; ++row) {
      Vector y[kTile];
      restore_line<1, 1>(kSize, lines + row * kExtent, y);
      for (int i = 0; i < kTile; ++i) y[i] += bias;
      const int64_t place = row * tile.row_stride + channel;
      if (tile.columns == kTile && count >= kLanes) {
        finish_row<kTile, true>(tile, place, count, y);
      } else {
        finish_row<kTile, false>(tile, place, count, y);
      }
    }
  }
}

template <int kRows>
GANTRY_TARGET void multiply_rows(const Product& product) {
  Vector sums[kRows][kVectors] = {};
  float* target = product.target;
  for (int r = 0; product.adds && r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = load(target + r * kColumns + v * kLanes);
  }
  const float* tiles = product.tiles;
  const float* panel = product.panel;
  for (int64_t channel = 0; channel < product.channels; channel += kLanes) {
#pragma GCC unroll 16
    for (int k = 0; k < kLanes; ++k) {
      Vector columns[kVectors];
      for (int v = 0; v < kVectors; ++v) columns[v] = load(panel + k * kColumns + v * kLanes);
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) sums[r][v] += columns[v] * tiles[r * kLanes + k];
      }
    }
    panel += kLanes * kColumns;
    tiles += product.block_stride;
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) store(sums[r][v], target + r * kColumns + v * kLanes);
  }
}

using Multiply = void (*)(const Product&);

template <int... kRows>
constexpr std::array<Multiply, kMostRows> table_of(std::integer_sequence<int, kRows...>) {
  return {multiply_rows<kRows + 1>...};
}

inline constexpr std::array<Multiply, kMostRows> kMultiply =
    table_of(std::make_integer_sequence<int, kMostRows>());

inline void multiply(const Product& product) {
  kMultiply[static_cast<size_t>(product.rows) - 1](product);
}

template <int kTile>
inline constexpr Code::Transforms kTransforms = {transform_input<kTile>, transform_weights<kTile>,
                                                 transform_output<kTile>};

}  // namespace gantry::onednn::winograd::GANTRY_INSTRUCTIONS
