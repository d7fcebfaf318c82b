// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <immintrin.h>

#include "matmul/packed/code.h"
#include "matmul/packed/left_rows.h"
#include "matmul/packed/tile_table.h"

#define GANTRY_MATMUL [[gnu::target("avx512f,avx512vl,avx2,fma")]]

namespace gantry::x86 {
namespace {

constexpr int kLanes = 16;
constexpr int kBytesOfLine = 64;

/// Mask of the lanes of vector `v` that are columns of the tile.
inline __mmask16 lanes_of(const MatMulTile& tile, int v) {
  const int64_t left = tile.columns - int64_t{v} * kLanes;
  return left >= kLanes ? __mmask16{0xffff} : static_cast<__mmask16>((1U << left) - 1U);
}

template <int kRows, int kVectors>
GANTRY_MATMUL inline void begin(const MatMulTile& tile, const __mmask16 (&lanes)[kVectors],
                                __m512 (&sums)[kRows][kVectors]) {
  __m512 bias[kVectors];
  for (int v = 0; v < kVectors; ++v)
    bias[v] = tile.bias ? _mm512_loadu_ps(tile.bias + v * kLanes) : _mm512_setzero_ps();
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = bias[v];
  }
  if (!tile.initial) return;
  const float* from = tile.initial;
  const int64_t stride = tile.stride;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r, from += stride) {
    for (int v = 0; v < kVectors; ++v) {
      const __m512 initial = _mm512_maskz_loadu_ps(lanes[v], from + v * kLanes);
      sums[r][v] = _mm512_add_ps(sums[r][v], initial);
    }
  }
}

/// Vector `offset` from `from` on, as floats.
template <StorageDtype kDtype>
GANTRY_MATMUL inline __m512 load(const std::byte* from, int64_t offset) {
  if constexpr (kDtype == StorageDtype::kFloat) {
    return _mm512_loadu_ps(from + offset * kLanes * int64_t{sizeof(float)});
  } else {
    const auto* at = reinterpret_cast<const __m256i*>(from) + offset;
    const __m256i narrow = _mm256_loadu_si256(at);
    if constexpr (kDtype == StorageDtype::kF16) return _mm512_cvtph_ps(narrow);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(narrow), 16));
  }
}

struct Avx512Tiles {
  /// Their sums by two vectors, these two vectors and a factor fill the registers.
  static constexpr int kMostRows = 14;

  template <StorageDtype kDtype, int kRows, int kVectors, int kLinesAhead>
  GANTRY_MATMUL static void multiply(const MatMulTile& tile) {
    __mmask16 lanes[kVectors];
    for (int v = 0; v < kVectors; ++v) lanes[v] = lanes_of(tile, v);
    __m512 sums[kRows][kVectors];
    begin<kRows, kVectors>(tile, lanes, sums);
    LeftRows<kRows> left(tile);
    const auto* panel = static_cast<const std::byte*>(tile.panel);
    const char* ahead = tile.ahead;
    [[maybe_unused]] int steps_left = 1;
    [[maybe_unused]] float* widened = tile.widened;
    for (int64_t steps = tile.inner; steps > 0; --steps) {
      __m512 weights[kVectors];
      for (int v = 0; v < kVectors; ++v) weights[v] = load<kDtype>(panel, v);
      if constexpr (kDtype != StorageDtype::kFloat) {
        if (widened) {
          for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(widened + v * kLanes, weights[v]);
          widened += kVectors * kLanes;
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
      panel += kVectors * kLanes * bytes_of(kDtype);
      for (int r = 0; r < kRows; ++r) {
        const __m512 factor = _mm512_set1_ps(*left.at(r));
        for (int v = 0; v < kVectors; ++v)
          sums[r][v] = _mm512_fmadd_ps(factor, weights[v], sums[r][v]);
      }
      left.advance();
    }
    if (tile.is_bounded) {
      const __m512 low = _mm512_set1_ps(tile.low);
      const __m512 high = _mm512_set1_ps(tile.high);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v)
          sums[r][v] = _mm512_min_ps(high, _mm512_max_ps(low, sums[r][v]));
      }
    }
    float* to = tile.target;
    const int64_t stride = tile.stride;  // the compiler would read it again behind each store
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r, to += stride) {
      for (int v = 0; v < kVectors; ++v)
        _mm512_mask_storeu_ps(to + v * kLanes, lanes[v], sums[r][v]);
    }
  }
};

}  // namespace

const MatMulCode kMatMulAvx512 = {Avx512Tiles::kMostRows, TileTable<Avx512Tiles>::multiply};

}  // namespace gantry::x86
