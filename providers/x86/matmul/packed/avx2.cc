// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "matmul/packed/code.h"
#include "matmul/packed/left_rows.h"
#include "matmul/packed/tile_table.h"

#define GANTRY_MATMUL [[gnu::target("avx2,fma,f16c")]]

namespace gantry::x86 {
namespace {

constexpr int kLanes = 8;
constexpr int kBytesOfLine = 64;

/// Mask of the lanes, of the vector whose first column is `column`, that are columns of the tile.
[[gnu::always_inline]] GANTRY_MATMUL inline __m256i lanes_of(const MatMulTile& tile,
                                                             int64_t column) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const auto left = static_cast<int>(tile.columns - column);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(left), lanes);
}

/// Vector `offset` from `from` on, as floats.
template <StorageDtype kDtype>
[[gnu::always_inline]] GANTRY_MATMUL inline __m256 load(const std::byte* from, int64_t offset) {
  if constexpr (kDtype == StorageDtype::kFloat) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from) + offset * kLanes);
  } else {
    const __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from) + offset);
    if constexpr (kDtype == StorageDtype::kF16) return _mm256_cvtph_ps(narrow);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(narrow), 16));
  }
}

/// Vectors [kFirst, kFirst + kVectors) of a panel of kWidth columns, and of the tile.
template <int kFrom, int kCount, int kOf>
struct Part {
  static constexpr int kFirst = kFrom;
  static constexpr int kVectors = kCount;
  static constexpr int kWidth = kOf;
};

// begin() and end() are inlined, and their loops unrolled, so that the sums stay in registers.

template <int kRows, class P>
[[gnu::always_inline]] GANTRY_MATMUL inline void begin(const MatMulTile& tile,
                                                       __m256 (&sums)[kRows][P::kVectors]) {
#pragma GCC unroll 6
  for (int v = 0; v < P::kVectors; ++v) {
    const int64_t column = int64_t{P::kFirst + v} * kLanes;
    const __m256 bias = tile.bias ? _mm256_loadu_ps(tile.bias + column) : _mm256_setzero_ps();
    const __m256i lanes = lanes_of(tile, column);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      sums[r][v] = bias;
      if (!tile.initial) continue;
      const float* from = tile.initial + r * tile.stride + column;
      sums[r][v] = _mm256_add_ps(bias, _mm256_maskload_ps(from, lanes));
    }
  }
}

template <int kRows, class P>
[[gnu::always_inline]] GANTRY_MATMUL inline void end(const MatMulTile& tile,
                                                     __m256 (&sums)[kRows][P::kVectors]) {
  if (tile.is_bounded) {
    const __m256 low = _mm256_set1_ps(tile.low);
    const __m256 high = _mm256_set1_ps(tile.high);
#pragma GCC unroll 6
    for (int v = 0; v < P::kVectors; ++v) {
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r)
        sums[r][v] = _mm256_min_ps(high, _mm256_max_ps(low, sums[r][v]));
    }
  }
#pragma GCC unroll 6
  for (int v = 0; v < P::kVectors; ++v) {
    const int64_t column = int64_t{P::kFirst + v} * kLanes;
    float* to = tile.target + column;
    if (column + kLanes <= tile.columns) {  // a masked store is slow on some CPUs
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) _mm256_storeu_ps(to + r * tile.stride, sums[r][v]);
    } else if (column < tile.columns) {
      const __m256i lanes = lanes_of(tile, column);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) _mm256_maskstore_ps(to + r * tile.stride, lanes, sums[r][v]);
    }
  }
}

template <StorageDtype kDtype, int kRows, int kLinesAhead, class P>
GANTRY_MATMUL void multiply_part(const MatMulTile& tile) {
  __m256 sums[kRows][P::kVectors];
  begin<kRows, P>(tile, sums);
  LeftRows<kRows> left(tile);
  const auto* panel =
      static_cast<const std::byte*>(tile.panel) + P::kFirst * kLanes * bytes_of(kDtype);
  const char* ahead = tile.ahead;
  [[maybe_unused]] int steps_left = 1;
  [[maybe_unused]] float* widened = tile.widened ? tile.widened + P::kFirst * kLanes : nullptr;
  for (int64_t steps = tile.inner; steps > 0; --steps) {
    __m256 weights[P::kVectors];
    for (int v = 0; v < P::kVectors; ++v) weights[v] = load<kDtype>(panel, v);
    if constexpr (kDtype != StorageDtype::kFloat) {
      if (widened) {
        for (int v = 0; v < P::kVectors; ++v) _mm256_storeu_ps(widened + v * kLanes, weights[v]);
        widened += P::kWidth * kLanes;
      }
    }
    // Memory of the same panel is prefetched to the L1 cache, that of another panel to the L2
    // cache.
    if constexpr (kLinesAhead == 1) {
      if (--steps_left == 0) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        ahead += kBytesOfLine;
        steps_left = tile.steps_ahead;
      }
    }
    if constexpr (kLinesAhead == 2) {
      _mm_prefetch(ahead, _MM_HINT_T0);
      _mm_prefetch(ahead + kBytesOfLine, _MM_HINT_T0);
      ahead += 2 * kBytesOfLine;
    }
    panel += P::kWidth * kLanes * bytes_of(kDtype);
    for (int r = 0; r < kRows; ++r) {
      const __m256 factor = _mm256_broadcast_ss(left.at(r));
      for (int v = 0; v < P::kVectors; ++v)
        sums[r][v] = _mm256_fmadd_ps(factor, weights[v], sums[r][v]);
    }
    left.advance();
  }
  end<kRows, P>(tile, sums);
}

struct Avx2Tiles {
  /// Sums of six rows by two vectors, these two vectors and a factor fill the registers.
  static constexpr int kMostRows = 6;
  /// Most rows for which all four vectors of a panel are multiplied at once.
  static constexpr int kFewRows = 3;

  /// Multiplies all vectors of a panel; the first part prefetches.
  template <StorageDtype kDtype, int kRows, int kHalves, int kLinesAhead>
  static void multiply(const MatMulTile& tile) {
    constexpr int kWidth = 2 * kHalves;
    if constexpr (kHalves == 1 || kRows <= kFewRows) {
      multiply_part<kDtype, kRows, kLinesAhead, Part<0, kWidth, kWidth>>(tile);
    } else {
      multiply_part<kDtype, kRows, kLinesAhead, Part<0, 2, kWidth>>(tile);
      multiply_part<kDtype, kRows, 0, Part<2, 2, kWidth>>(tile);
    }
  }
};

}  // namespace

const MatMulCode kMatMulAvx2 = {Avx2Tiles::kMostRows, TileTable<Avx2Tiles>::multiply};

}  // namespace gantry::x86
