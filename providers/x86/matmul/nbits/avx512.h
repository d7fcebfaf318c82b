// SPDX-License-Identifier: Apache-2.0
// AVX-512 code that the int8 and the f32 products share.
#pragma once

#include <immintrin.h>

#include "matmul/nbits/code.h"

#define GANTRY_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]]

namespace gantry::x86 {

constexpr int kMostRows = 12;  ///< with a sum in floats and one in integers: 24 of 32 registers

/// Scales and zero points of a block of a group's 16 columns; `offset`: block * kGroup.
GANTRY_AVX512 inline __m512 scales_of(const ColumnGroup& group, int64_t offset) {
  if (!group.multiples) return _mm512_loadu_ps(group.scales + offset);
  const auto* multiples = reinterpret_cast<const __m256i*>(group.multiples + offset);
  return _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(_mm256_loadu_si256(multiples)));
}
GANTRY_AVX512 inline __m512 zeros_of(const ColumnGroup& group, int64_t offset) {
  if (group.zero_floats) return _mm512_loadu_ps(group.zero_floats + offset);
  const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(group.zero_bytes + offset));
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

/// Stores the sums of kRows rows of a group of columns, times the group's steps, plus the bias.
template <int kRows>
GANTRY_AVX512 inline void store_sums(const __m512* sums, const ColumnGroup& group,
                                     const Target& target) {
  const auto columns = static_cast<__mmask16>((1U << static_cast<unsigned>(target.columns)) - 1);
  const __m512 steps = group.steps ? _mm512_loadu_ps(group.steps) : _mm512_set1_ps(1);
  const __m512 bias =
      target.bias ? _mm512_maskz_loadu_ps(columns, target.bias) : _mm512_setzero_ps();
  for (int r = 0; r < kRows; ++r) {
    _mm512_mask_storeu_ps(target.data + r * target.stride, columns,
                          _mm512_fmadd_ps(sums[r], steps, bias));
  }
}

}  // namespace gantry::x86
