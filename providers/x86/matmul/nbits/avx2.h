// SPDX-License-Identifier: Apache-2.0
// What the AVX2 products of int8 rows and of f32 rows have in common: 8 columns at a time.
#pragma once

#include <algorithm>
#include <array>
#include <immintrin.h>

#include "matmul/nbits/code.h"

#define GANTRY_AVX2 [[gnu::target("avx2,fma")]]

namespace gantry::x86 {

constexpr int kAvx2Lanes = 8;

/// BlockCode::quantize. Requires AVX2.
void quantize_avx2(const float* source, const BlockShape& shape, int middle, const RowTile& tile,
                   int row);

/// Scales and zero points of 8 columns of a group; `offset`: block * kGroup + the first of them.
GANTRY_AVX2 inline __m256 scales_avx2(const ColumnGroup& group, int64_t offset) {
  if (!group.multiples) return _mm256_loadu_ps(group.scales + offset);
  const auto* multiples = reinterpret_cast<const __m128i*>(group.multiples + offset);
  return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128(multiples)));
}
GANTRY_AVX2 inline __m256 zeros_avx2(const ColumnGroup& group, int64_t offset) {
  if (group.zero_floats) return _mm256_loadu_ps(group.zero_floats + offset);
  const auto bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(group.zero_bytes + offset));
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

/// Stores the sums of a row for 8 columns of a group from `first` on, times the group's steps, plus
/// the bias.
GANTRY_AVX2 inline void store_avx2(__m256 sums, const ColumnGroup& group, const Target& target,
                                   int row, int first) {
  if (group.steps) sums = _mm256_mul_ps(sums, _mm256_loadu_ps(group.steps + first));
  std::array<float, kAvx2Lanes> values{};
  _mm256_storeu_ps(values.data(), sums);
  float* to = target.data + row * target.stride + first;
  const int count = std::min(kAvx2Lanes, target.columns - first);
  for (int i = 0; i < count; ++i) to[i] = values[i] + (target.bias ? target.bias[first + i] : 0);
}

}  // namespace gantry::x86
