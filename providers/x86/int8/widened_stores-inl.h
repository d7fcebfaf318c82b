// SPDX-License-Identifier: Apache-2.0
// Layout of int8 sums in vectors, and conversion of results to bytes. Included once for each
// Highway target.
#if defined(GANTRY_X86_INT8_WIDENED_STORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_INT8_WIDENED_STORES_INL_H_
#undef GANTRY_X86_INT8_WIDENED_STORES_INL_H_
#else
#define GANTRY_X86_INT8_WIDENED_STORES_INL_H_
#endif

#include <type_traits>

#include "int8/widened_convolution.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

using I32 = hn::RebindToSigned<F32>;
using V32I = hn::Vec<I32>;

static_assert(kWidenedPanel % kLanes == 0);
constexpr int kVectorsOfPanel = static_cast<int>(kWidenedPanel / kLanes);

/// Panels that are multiplied at once. Where a vector is a whole panel, two panels share each
/// broadcast load of a source element, of which many CPUs do one in a cycle.
constexpr int kPanelsOfTile = kHasManyRegisters ? 2 : 1;

/// Rows of a panel that are stored at once: their four vectors of floats become one of bytes.
constexpr int kRowsOfStore = kLanes < 4 ? 1 : static_cast<int>(kLanes / 4);

#if HWY_TARGET != HWY_SCALAR

/// sum[i] + a[2i] * b[2i] + a[2i+1] * b[2i+1] (VPMADDWD). Highway splits the result over two sums
/// in any order; on x86 the second one stays zero.
template <class D32, class V16>
HWY_INLINE hn::Vec<D32> add_pairs(D32 d32, hn::Vec<D32> sum, V16 a, V16 b) {
  auto unused = hn::Zero(d32);
  return hn::ReorderWidenMulAccumulate(d32, a, b, sum, unused);
}

#endif

/// The nearest integer, ties to even, clipped to 2^14 in magnitude. Takes fewer instructions than
/// Highway's NearestInt, which handles overflow: after adding 3 * 2^22 the float's low bits are the
/// integer.
HWY_INLINE V32I bounded_integer(V32 x) {
  const F32 d;
  const V32 most = hn::Set(d, 1 << 14);
  const V32 ones_last = hn::Set(d, 3 << 22);
  const V32 bounded = hn::Max(hn::Min(x, most), hn::Neg(most));
  return hn::Sub(hn::BitCast(I32(), hn::Add(bounded, ones_last)), hn::BitCast(I32(), ones_last));
}

/// Stores a row as bytes, with the zero point added, saturated.
template <class Byte>
HWY_INLINE void store_row(const V32* x, int32_t zero, uint8_t* to) {
  const hn::Rebind<Byte, I32> bytes;
  // Values beyond +-2^14 saturate anyway. With the zero point they stay below 2^15: from there to
  // 2^15 + 255 Highway 1.0's DemoteTo drops the top bit before it saturates.
  for (int v = 0; v < kVectorsOfPanel; ++v) {
    const V32I number = hn::Add(bounded_integer(x[v]), hn::Set(I32(), zero));
    hn::StoreU(hn::DemoteTo(bytes, number), bytes, reinterpret_cast<Byte*>(to) + v * kLanes);
  }
}

#if HWY_TARGET > HWY_SSE4 || HWY_TARGET == HWY_SCALAR

template <class Byte>
HWY_INLINE void store_rows(const V32* x, int32_t zero, uint8_t* const* to) {
  for (int r = 0; r < kRowsOfStore; ++r) store_row<Byte>(x + r * kVectorsOfPanel, zero, to[r]);
}

#else

/// Stores kRowsOfStore rows, which are four vectors, as bytes. The packing instructions work within
/// 128-bit blocks, so each block has four elements of every vector; a permutation restores the
/// order.
template <class Byte>
HWY_INLINE void store_rows(const V32* x, int32_t zero, uint8_t* const* to) {
  constexpr bool kSigned = std::is_signed_v<Byte>;
  const hn::Repartition<int16_t, I32> d16;
  const auto zeros = hn::Set(d16, static_cast<int16_t>(zero));
  const auto n0 = bounded_integer(x[0]);
  const auto n1 = bounded_integer(x[1]);
  const auto n2 = bounded_integer(x[2]);
  const auto n3 = bounded_integer(x[3]);
  const auto low = hn::Add(hn::ReorderDemote2To(d16, n0, n1), zeros);
  const auto high = hn::Add(hn::ReorderDemote2To(d16, n2, n3), zeros);
#if HWY_TARGET <= HWY_AVX3
  // A vector is a row.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i blocks =
      kSigned ? _mm512_packs_epi16(low.raw, high.raw) : _mm512_packus_epi16(low.raw, high.raw);
  const __m512i rows = _mm512_permutexvar_epi32(order, blocks);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to[0]), _mm512_castsi512_si128(rows));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to[1]), _mm512_extracti32x4_epi32(rows, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to[2]), _mm512_extracti32x4_epi32(rows, 2));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to[3]), _mm512_extracti32x4_epi32(rows, 3));
#elif HWY_TARGET == HWY_AVX2
  // Two vectors are a row.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i blocks =
      kSigned ? _mm256_packs_epi16(low.raw, high.raw) : _mm256_packus_epi16(low.raw, high.raw);
  const __m256i rows = _mm256_permutevar8x32_epi32(blocks, order);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to[0]), _mm256_castsi256_si128(rows));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to[1]), _mm256_extracti128_si256(rows, 1));
#else
  const __m128i row =
      kSigned ? _mm_packs_epi16(low.raw, high.raw) : _mm_packus_epi16(low.raw, high.raw);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to[0]), row);
#endif
}

#endif

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
