// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "int8/amx_tiles.h"
#include "recurrent/int8_code.h"

namespace gantry::x86 {
namespace {

static_assert(kAmxTiles == kSumTiles && kInt8Gates == kSumTiles);
static_assert(kUnitBlock == kTileChannels);

constexpr int64_t kQuad = 4;
static_assert(kAmxStep * kQuad == kTileBytes);
constexpr int64_t kSumBytes = kUnitBlock * static_cast<int64_t>(sizeof(int32_t));

template <int... kTile>
inline void clear_sums(std::integer_sequence<int, kTile...>) {
  (clear_tile<kTile>(), ...);
}

template <int kGate>
inline void multiply_gate(const int8_t* weights) {
  constexpr int kTile = kFirstWeightTile + kGate % 2;
  load_tile<kTile>(weights + kGate * kTileWeights, kTileBytes);
  multiply_tile<false, kGate, kFirstPositionTile, kTile>();
}

template <int kRows>
inline void multiply_rows(const uint8_t* numbers, int64_t stride) {
  constexpr int kTile = kFirstPositionTile + kRows % 2;
  load_tile<kTile>(numbers, stride);
  multiply_tile<false, kRows, kTile, kFirstWeightTile>();
}

template <int... kTile>
inline void store_sums(int32_t* sums, int64_t distance, std::integer_sequence<int, kTile...>) {
  (store_tile<kTile>(sums + kTile * distance, kSumBytes), ...);
}

/// Multiplies one tile of rows, all gates at once.
void multiply_tile_of_rows(const Int8Block& block, int32_t* sums) {
  constexpr auto kGates = std::make_integer_sequence<int, kInt8Gates>();
  const int8_t* weights = block.weights;
  clear_sums(kGates);
  for (int64_t quad = 0; quad < block.quads; quad += kAmxStep) {
    load_tile<kFirstPositionTile>(block.numbers + quad * kQuad, block.quads * kQuad);
    [&]<int... kGate>(std::integer_sequence<int, kGate...>) {
      (multiply_gate<kGate>(weights), ...);
    }
    (kGates);
    weights += kInt8Gates * kTileWeights;
  }
  store_sums(sums, block.rows * kUnitBlock, kGates);
}

/// Multiplies kTiles tiles of rows, gate by gate, so that a tile of weights is loaded once for all
/// rows.
template <int kTiles>
void multiply_tiles_of_rows(const Int8Block& block, int64_t rows_of_tile, int32_t* sums) {
  constexpr auto kAll = std::make_integer_sequence<int, kTiles>();
  const int64_t stride = block.quads * kQuad;
  for (int gate = 0; gate < kInt8Gates; ++gate) {
    const int8_t* weights = block.weights + gate * kTileWeights;
    clear_sums(kAll);
    for (int64_t quad = 0; quad < block.quads; quad += kAmxStep) {
      load_tile<kFirstWeightTile>(weights, kTileBytes);
      [&]<int... kRows>(std::integer_sequence<int, kRows...>) {
        (multiply_rows<kRows>(block.numbers + kRows * rows_of_tile * stride + quad * kQuad, stride),
         ...);
      }
      (kAll);
      weights += kInt8Gates * kTileWeights;
    }
    store_sums(sums + gate * block.rows * kUnitBlock, rows_of_tile * kUnitBlock, kAll);
  }
}

}  // namespace

void multiply_with_amx(const Int8Block& block, int64_t rows_of_tile, int32_t* sums) {
  asm volatile("" ::: "memory");  // tile loads need the rows in memory
  switch (block.rows / rows_of_tile) {
    case 1:
      return multiply_tile_of_rows(block, sums);
    case 2:
      return multiply_tiles_of_rows<2>(block, rows_of_tile, sums);
    case 3:
      return multiply_tiles_of_rows<3>(block, rows_of_tile, sums);
    default:
      return multiply_tiles_of_rows<4>(block, rows_of_tile, sums);
  }
}

}  // namespace gantry::x86
