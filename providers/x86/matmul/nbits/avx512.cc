// SPDX-License-Identifier: Apache-2.0
// Block-quantized matmul with AVX-512 VNNI: 16 columns at a time; each vector of the matrix is
// unpacked once for up to 12 rows.
#include "matmul/nbits/avx512.h"

#include <array>
#include <cstring>
#include <immintrin.h>
#include <utility>

#include "matmul/nbits/avx2.h"
#include "matmul/nbits/floats.h"

#define GANTRY_VNNI [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]]

namespace gantry::x86 {
namespace {

GANTRY_VNNI inline __m512i broadcast(const int8_t* quad) {
  int32_t bits = 0;
  std::memcpy(&bits, quad, sizeof(bits));
  return _mm512_set1_epi32(bits);
}

/// The integer products of a block with kRows rows.
template <int kRows, int kBits>
GANTRY_VNNI inline void sum_block(const uint8_t* numbers, const int8_t* quads, int64_t vectors,
                                  __m512i* dots) {
  const __m512i low_half = _mm512_set1_epi8(15);
  for (int64_t i = 0; i < vectors; ++i) {
    const __m512i both = _mm512_loadu_si512(numbers);
    if constexpr (kBits == 8) {
      for (int r = 0; r < kRows; ++r)
        dots[r] = _mm512_dpbusd_epi32(dots[r], both, broadcast(quads + r * kQuad));
    } else {
      const __m512i low = _mm512_and_si512(both, low_half);
      const __m512i high = _mm512_and_si512(_mm512_srli_epi16(both, 4), low_half);
      for (int r = 0; r < kRows; ++r)
        dots[r] = _mm512_dpbusd_epi32(dots[r], low, broadcast(quads + r * kQuad));
      for (int r = 0; r < kRows; ++r)
        dots[r] = _mm512_dpbusd_epi32(dots[r], high, broadcast(quads + (kRows + r) * kQuad));
    }
    numbers += kGroup * kQuad;
    quads += kRows * kQuad * (8 / kBits);
  }
}

template <int kRows, int kBits>
GANTRY_VNNI void multiply_rows(const RowTile& tile, const ColumnGroup& group,
                               const BlockShape& shape, const Target& target) {
  __m512 sums[kRows];
  for (int r = 0; r < kRows; ++r) sums[r] = _mm512_setzero_ps();
  const bool has_zeros = group.zero_bytes || group.zero_floats;
  const int64_t vectors = shape.vectors();
  const int64_t blocks = shape.blocks();
  const uint8_t* numbers = group.numbers;
  const int8_t* quads = tile.numbers;
  for (int64_t block = 0; block < blocks; ++block) {
    const int32_t* corrections = tile.corrections + block * kRows;
    __m512i dots[kRows];
    for (int r = 0; r < kRows; ++r)
      dots[r] = has_zeros ? _mm512_setzero_si512() : _mm512_set1_epi32(corrections[r]);
    sum_block<kRows, kBits>(numbers, quads, vectors, dots);
    numbers += vectors * kGroup * kQuad;
    quads += shape.block * kRows;
    __m512 products[kRows];
    for (int r = 0; r < kRows; ++r) products[r] = _mm512_cvtepi32_ps(dots[r]);
    if (has_zeros) {
      const __m512 zeros = zeros_of(group, block * kGroup);
      for (int r = 0; r < kRows; ++r) {
        const __m512 correction = _mm512_cvtepi32_ps(_mm512_set1_epi32(corrections[r]));
        products[r] = _mm512_fmadd_ps(zeros, correction, products[r]);
      }
    }
    const __m512 scale = scales_of(group, block * kGroup);
    for (int r = 0; r < kRows; ++r) {
      const __m512 factor = _mm512_mul_ps(scale, _mm512_set1_ps(tile.scales[block * kRows + r]));
      sums[r] = _mm512_fmadd_ps(products[r], factor, sums[r]);
    }
  }
  store_sums<kRows>(sums, group, target);
}

using Multiply = void (*)(const RowTile&, const ColumnGroup&, const BlockShape&, const Target&);
using Table = std::array<Multiply, kMostRows>;

template <int kBits, int... kRows>
constexpr Table table_of(std::integer_sequence<int, kRows...>) {
  return {multiply_rows<kRows + 1, kBits>...};
}

constexpr Table kFourBits = table_of<4>(std::make_integer_sequence<int, kMostRows>());
constexpr Table kEightBits = table_of<8>(std::make_integer_sequence<int, kMostRows>());

void multiply(const RowTile& tile, const ColumnGroup& group, const BlockShape& shape,
              const Target& target) {
  const Table& table = shape.bits == 8 ? kEightBits : kFourBits;
  table[static_cast<size_t>(tile.rows) - 1](tile, group, shape, target);
}

}  // namespace

const BlockCode kAvx512Code = {"avx512_vnni", kMostRows, kMostRows,
                               quantize_avx2, multiply,  multiply_floats_avx512};

}  // namespace gantry::x86
