// SPDX-License-Identifier: Apache-2.0
// The int8 epilogue in AVX-512 vectors, for functions of the target GANTRY_VNNI.
#pragma once

#include <cstdint>
#include <immintrin.h>

#include "int8/epilogue.h"

#define GANTRY_VNNI [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]]

namespace gantry::x86 {

/// 16 int8 values as floats, zero outside `lanes`.
GANTRY_VNNI inline __m512 load_numbers(const uint8_t* from, bool is_signed, __mmask16 lanes) {
  const __m128i bytes = _mm_maskz_loadu_epi8(lanes, from);
  return _mm512_cvtepi32_ps(is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes));
}

/// Kind::kRound.
template <int kVectors>
GANTRY_VNNI inline void round(const Int8EpilogueStep& step, __m512 (&x)[kVectors]) {
  const __m512 low = _mm512_set1_ps(step.alpha);
  const __m512 high = _mm512_set1_ps(step.beta);
  for (__m512& y : x) {
    y = _mm512_roundscale_ps(y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    y = _mm512_min_ps(_mm512_max_ps(y, low), high);
  }
}

/// Kind::kAdd. `addends`: the addend's elements for each vector; only those of `lanes` are read.
template <bool kSigned, int kVectors>
GANTRY_VNNI inline void add(const Int8EpilogueStep& step, __m512 (&x)[kVectors],
                            const uint8_t* const (&addends)[kVectors],
                            const __mmask16 (&lanes)[kVectors]) {
  const __m512 alpha = _mm512_set1_ps(step.alpha);
  const __m512 beta = _mm512_set1_ps(step.beta);
  const __m512 factor = _mm512_set1_ps(step.factor);
  for (int v = 0; v < kVectors; ++v) {
    const __m512 added = load_numbers(addends[v], kSigned, lanes[v]);
    x[v] = _mm512_fmadd_ps(added, factor, _mm512_fmadd_ps(x[v], alpha, beta));
  }
}

/// Applies a step to kVectors vectors. Only kAdd reads `addends` and `lanes`.
template <int kVectors>
GANTRY_VNNI inline void apply(const Int8EpilogueStep& step, __m512 (&x)[kVectors],
                              const uint8_t* const (&addends)[kVectors],
                              const __mmask16 (&lanes)[kVectors]) {
  const __m512 alpha = _mm512_set1_ps(step.alpha);
  const __m512 beta = _mm512_set1_ps(step.beta);
  switch (step.kind) {
    case Int8EpilogueStep::Kind::kLinear:
      for (__m512& y : x) y = _mm512_fmadd_ps(y, alpha, beta);
      break;
    case Int8EpilogueStep::Kind::kRound:
      round(step, x);
      break;
    case Int8EpilogueStep::Kind::kAdd:
      if (step.is_signed) {
        add<true>(step, x, addends, lanes);
      } else {
        add<false>(step, x, addends, lanes);
      }
      break;
    case Int8EpilogueStep::Kind::kRelu:
      for (__m512& y : x) {
        const __mmask16 negative = _mm512_cmp_ps_mask(y, _mm512_setzero_ps(), _CMP_LT_OQ);
        y = _mm512_mask_mul_ps(y, negative, y, alpha);
      }
      break;
    case Int8EpilogueStep::Kind::kClip:
      for (__m512& y : x) y = _mm512_min_ps(_mm512_max_ps(y, alpha), beta);
      break;
  }
}

/// Rounded to int32.
GANTRY_VNNI inline __m512i integers_of(__m512 x) {
  // Overflow converts to the smallest int32, which is right for small values but not for large
  // ones.
  return _mm512_cvtps_epi32(_mm512_min_ps(x, _mm512_set1_ps(1 << 20)));
}

/// Adds the zero point to four vectors of int32 and saturates them to one vector of bytes, in
/// order.
GANTRY_VNNI inline __m512i pack_bytes(const __m512i (&integers)[4], int32_t zero_point,
                                      bool is_signed) {
  // The packing instructions work within quarters of a vector, which are put in order at the end.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(zero_point));
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(integers[0], integers[1]), zero);
  const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(integers[2], integers[3]), zero);
  const __m512i bytes = is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
  return _mm512_permutexvar_epi32(order, bytes);
}

}  // namespace gantry::x86
