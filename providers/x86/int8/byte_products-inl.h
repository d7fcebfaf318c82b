// SPDX-License-Identifier: Apache-2.0
// The instructions that multiply u8 by s8 and add products of neighbours. Included once for each
// Highway target.
#if defined(GANTRY_X86_INT8_BYTE_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_INT8_BYTE_PRODUCTS_INL_H_
#undef GANTRY_X86_INT8_BYTE_PRODUCTS_INL_H_
#else
#define GANTRY_X86_INT8_BYTE_PRODUCTS_INL_H_
#endif

#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

// kByteRows: rows of a tile whose sums stay in registers. kMayHaveQuadSums: there is
// add_quads_of_bytes(), for CPUs that have it (has_quad_sums() in int8/vnni.h): VPDPBUSD by its
// name, since Highway has no target for AVX2 with AVX-VNNI, nor for AVX-512 with VNNI alone, so
// that the compiler has no intrinsic for it here.
#if HWY_TARGET <= HWY_AVX3

constexpr bool kMayHaveQuadSums = true;
constexpr int kByteRows = 12;
HWY_INLINE __m512i add_pairs_of_bytes(__m512i x, __m512i w) { return _mm512_maddubs_epi16(x, w); }
HWY_INLINE __m512i add_quads_of_bytes(__m512i sum, __m512i x, __m512i w) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
  return sum;
}

#elif HWY_TARGET == HWY_AVX2

constexpr bool kMayHaveQuadSums = true;
constexpr int kByteRows = 6;
HWY_INLINE __m256i add_pairs_of_bytes(__m256i x, __m256i w) { return _mm256_maddubs_epi16(x, w); }
HWY_INLINE __m256i add_quads_of_bytes(__m256i sum, __m256i x, __m256i w) {
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(x), "x"(w));
  return sum;
}

#else

constexpr bool kMayHaveQuadSums = false;
constexpr int kByteRows = 3;
#if HWY_TARGET <= HWY_SSE4
HWY_INLINE __m128i add_pairs_of_bytes(__m128i x, __m128i w) { return _mm_maddubs_epi16(x, w); }
#endif

#endif

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
