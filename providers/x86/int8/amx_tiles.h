// SPDX-License-Identifier: Apache-2.0
// AMX tile registers: four of sums, two of source rows, two of weights. Requires has_tile_code().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "int8/amx.h"

namespace gantry::x86 {

constexpr int kSumTiles = 4;           ///< tmm0 to tmm3
constexpr int kFirstPositionTile = 4;  ///< tmm4 and tmm5, a row for each position
constexpr int kFirstWeightTile = 6;

/// Operand of LDTILECFG.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  std::array<uint8_t, 14> reserved{};
  std::array<uint16_t, 16> row_bytes{};
  std::array<uint8_t, 16> rows{};
};
static_assert(sizeof(TileConfiguration) == 64);

/// Configures the thread's tiles, with `positions` rows in those of sums and of the source, and
/// releases them. Any other configuration of the thread is lost.
class Tiles {
 public:
  explicit Tiles(int64_t positions) {
    TileConfiguration configuration;
    for (size_t i = 0; i < 8; ++i) {
      configuration.row_bytes[i] = kTileBytes;
      configuration.rows[i] =
          static_cast<uint8_t>(i < kFirstWeightTile ? positions : kTileBytes / 4);
    }
    asm volatile("ldtilecfg %0" ::"m"(configuration));
  }
  ~Tiles() { asm volatile("tilerelease"); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
  Tiles(Tiles&&) = delete;
  Tiles& operator=(Tiles&&) = delete;
};

template <int kTile>
inline void clear_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}

template <int kTile>
inline void load_tile(const void* from, int64_t distance) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(distance), "i"(kTile));
}

template <int kTile>
inline void store_tile(void* to, int64_t distance) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(distance), "i"(kTile) : "memory");
}

template <bool kSigned, int kSum, int kPositions, int kWeights>
inline void multiply_tile() {
  if constexpr (kSigned) {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kPositions),
                 "i"(kWeights));
  } else {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kPositions),
                 "i"(kWeights));
  }
}

}  // namespace gantry::x86
