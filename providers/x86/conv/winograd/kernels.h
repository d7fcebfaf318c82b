// SPDX-License-Identifier: Apache-2.0
// The functions of conv/winograd/code.h for one instruction set. Include it once per instruction
// set, after defining GANTRY_TARGET (the target attribute), GANTRY_INSTRUCTIONS (a namespace that
// no other source has) and, in that namespace, kLanes, kVectors (of a panel) and kMostRows. The
// namespace of its own keeps the linker from merging inline functions of different instruction
// sets.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "conv/winograd/code.h"
#include "conv/winograd/epilogue.h"
#include "conv/winograd/transforms.h"
#include "conv/winograd/vectors.h"

namespace gantry::x86::winograd::GANTRY_INSTRUCTIONS {

static_assert(kColumns <= kMostColumns);

template <int kTile>
GANTRY_TARGET bool transform_input(const InputTile& tile) {
  constexpr float kMostSquares = 0x1p100F;
  constexpr int kExtent = kTile + 2;
  constexpr std::integral_constant<int, kTile> kSize;
  const int64_t position_stride = tile.position_stride;
  float* target = tile.target;
  Vector squares = {};
  for (int64_t channel = 0; channel < tile.channels; channel += kLanes) {
    const int64_t count = tile.channels - channel;
    Vector lines[kExtent * kExtent];
    for (int column = 0; column < kExtent; ++column) {
      Vector line[kExtent];
      for (int row = 0; row < kExtent; ++row)
        line[row] = load_some(tile.pixels[row * kExtent + column] + channel, count);
      Vector of_column = line[0] * line[0];
      for (int row = 1; row < kExtent; ++row) of_column += line[row] * line[row];
      squares += of_column;
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
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += squares[lane];
  return sum < kMostSquares;  // false of NaN
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

/// Applies the epilogue to a row of results and stores it, `count` channels of each. `kIsWhole`:
/// the whole row and all lanes are inside the output.
template <int kTile, bool kIsWhole>
GANTRY_TARGET inline void finish_row(const OutputTile& tile, int64_t offset, int64_t count,
                                     Vector* y) {
  for (int step = 0; step < tile.step_count; ++step) {
    take_step<kTile, kIsWhole>(tile.steps[step], tile, tile.addend + offset, count, y);
  }
  float* target = tile.target + offset;
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
GANTRY_TARGET inline void finish_sums(const OutputTile& tile, int row, int64_t channel, Vector* y) {
  const Vector bias = load(tile.bias + channel);
  for (int i = 0; i < kTile; ++i) y[i] += bias;
  const int64_t count = tile.channels - channel;
  const int64_t offset = row * tile.row_stride + channel;
  if (tile.columns == kTile && count >= kLanes) {
    finish_row<kTile, true>(tile, offset, count, y);
  } else {
    finish_row<kTile, false>(tile, offset, count, y);
  }
}

template <int kTile>
GANTRY_TARGET void transform_output(const OutputTile& tile) {
  constexpr int kExtent = kTile + 2;
  constexpr std::integral_constant<int, kTile> kSize;
  for (int64_t channel = 0; channel < tile.channels; channel += kLanes) {
    Vector lines[kTile * kExtent];
    for (int column = 0; column < kExtent; ++column) {
      Vector line[kExtent];
      for (int row = 0; row < kExtent; ++row)
        line[row] = load(tile.products + (row * kExtent + column) * tile.position_stride + channel);
      restore_line<1, kExtent>(kSize, line, lines + column);
    }
    for (int row = 0; row < tile.rows; ++row) {
      Vector y[kTile];
      restore_line<1, 1>(kSize, lines + row * kExtent, y);
      finish_sums<kTile>(tile, row, channel, y);
    }
  }
}

template <int kTile>
GANTRY_TARGET void store_results(const OutputTile& tile) {
  for (int64_t channel = 0; channel < tile.channels; channel += kLanes) {
    for (int row = 0; row < tile.rows; ++row) {
      Vector y[kTile];
      for (int i = 0; i < kTile; ++i)
        y[i] = load(tile.products + (row * kTile + i) * tile.position_stride + channel);
      finish_sums<kTile>(tile, row, channel, y);
    }
  }
}

template <int kRows>
GANTRY_TARGET void multiply_rows(const PositionGemm& gemm) {
  Vector sums[kRows][kVectors] = {};  // in registers, which needs loops that are unrolled
  float* target = gemm.target;
  if (gemm.adds) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[r][v] = load(target + r * kColumns + v * kLanes);
    }
  }
  const float* tiles = gemm.tiles;
  const float* panel = gemm.panel;
  for (int64_t channel = 0; channel < gemm.channels; channel += kLanes) {
#pragma GCC unroll 16
    for (int k = 0; k < kLanes; ++k) {
      Vector columns[kVectors];
      for (int v = 0; v < kVectors; ++v) columns[v] = load(panel + k * kColumns + v * kLanes);
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) sums[r][v] += columns[v] * tiles[r * kLanes + k];
      }
    }
    panel += kLanes * kColumns;
    tiles += gemm.block_stride;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) store(sums[r][v], target + r * kColumns + v * kLanes);
  }
}

using Multiply = void (*)(const PositionGemm&);

template <int... kRows>
constexpr std::array<Multiply, kMostRows> table_of(std::integer_sequence<int, kRows...>) {
  return {multiply_rows<kRows + 1>...};
}

inline constexpr std::array<Multiply, kMostRows> kMultiply =
    table_of(std::make_integer_sequence<int, kMostRows>());

inline void multiply(const PositionGemm& gemm) {
  kMultiply[static_cast<size_t>(gemm.rows) - 1](gemm);
}

template <int kTile>
inline constexpr Code::Transforms kTransforms = {transform_input<kTile>, transform_weights<kTile>,
                                                 transform_output<kTile>, store_results<kTile>};

}  // namespace gantry::x86::winograd::GANTRY_INSTRUCTIONS
