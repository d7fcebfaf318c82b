// SPDX-License-Identifier: Apache-2.0
// Block-quantized matmul of f32 rows with AVX-512: each element of the matrix is dequantized once,
// in a register, for up to 12 rows.
#include <algorithm>
#include <array>
#include <immintrin.h>
#include <utility>

#include "matmul/nbits/avx512.h"
#include "matmul/nbits/floats.h"

namespace gantry::x86 {
namespace {

/// Adds the products of one element of each column with kRows floats.
template <int kRows>
GANTRY_AVX512 inline void add_products(__m512 numbers, const float* rows, __m512* dots) {
  for (int r = 0; r < kRows; ++r)
    dots[r] = _mm512_fmadd_ps(numbers, _mm512_set1_ps(rows[r]), dots[r]);
}

/// The products of a block. `table`: values of the 4-bit elements; `middle`: subtracted from 8-bit
/// elements.
template <int kRows, int kBits>
GANTRY_AVX512 inline void sum_block(const uint8_t* numbers, const float* rows, int64_t vectors,
                                    __m512 table, __m512 middle, __m512* dots) {
  const __m512i byte = _mm512_set1_epi32(255);
  for (int64_t i = 0; i < vectors; ++i) {
    __m512i rest = _mm512_loadu_si512(numbers);
    for (int k = 0; k < kQuad; ++k) {
      if constexpr (kBits == 8) {
        const __m512 floats = _mm512_cvtepi32_ps(_mm512_and_si512(rest, byte));
        add_products<kRows>(_mm512_sub_ps(floats, middle), rows + k * kRows, dots);
      } else {  // the permutation indexes the table by the low bits of each lane
        add_products<kRows>(_mm512_permutexvar_ps(rest, table), rows + k * kRows, dots);
        add_products<kRows>(_mm512_permutexvar_ps(_mm512_srli_epi32(rest, 4), table),
                            rows + (kQuad + k) * kRows, dots);
      }
      rest = _mm512_srli_epi32(rest, 8);
    }
    numbers += kGroup * kQuad;
    rows += kQuad * (8 / kBits) * kRows;
  }
}

template <int kRows, int kBits>
GANTRY_AVX512 void multiply_rows(const RowTile& tile, const ColumnGroup& group,
                                 const BlockShape& shape, const Target& target) {
  const bool has_zeros = group.zero_bytes || group.zero_floats;
  const __m512 middle = _mm512_set1_ps(has_zeros ? 0 : 1 << (kBits - 1));
  const __m512 table =
      _mm512_sub_ps(_mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), middle);
  const int64_t bytes = shape.vectors() * kGroup * kQuad;
  __m512 sums[kRows];
  for (int r = 0; r < kRows; ++r) sums[r] = _mm512_setzero_ps();
  for (int64_t block = 0; block < shape.blocks(); ++block) {
    __m512 dots[kRows];
    for (int r = 0; r < kRows; ++r) dots[r] = _mm512_setzero_ps();
    sum_block<kRows, kBits>(group.numbers + block * bytes,
                            tile.floats + block * shape.block * kRows, shape.vectors(), table,
                            middle, dots);
    if (has_zeros) {
      const __m512 zeros = zeros_of(group, block * kGroup);
      add_products<kRows>(zeros, tile.scales + block * kRows, dots);
    }
    const __m512 scale = scales_of(group, block * kGroup);
    for (int r = 0; r < kRows; ++r) sums[r] = _mm512_fmadd_ps(dots[r], scale, sums[r]);
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

}  // namespace

void multiply_floats_avx512(const RowTile& tile, const ColumnGroup& group, const BlockShape& shape,
                            const Target& target) {
  const Table& table = shape.bits == 8 ? kEightBits : kFourBits;
  table[static_cast<size_t>(tile.rows) - 1](tile, group, shape, target);
}

}  // namespace gantry::x86
