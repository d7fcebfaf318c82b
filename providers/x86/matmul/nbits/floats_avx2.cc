// SPDX-License-Identifier: Apache-2.0
// Block-quantized matmul of f32 rows with AVX2: each element of 8 columns is dequantized once, in a
// register, for up to 8 rows.
#include <array>
#include <immintrin.h>
#include <utility>

#include "matmul/nbits/avx2.h"
#include "matmul/nbits/floats.h"

namespace gantry::x86 {
namespace {

/// Adds the products of one number of each column, less `middle`, with kRows floats.
template <int kRows>
GANTRY_AVX2 inline void add_products(__m256i numbers, __m256i middle, const float* rows,
                                     __m256* dots) {
  const __m256 floats = _mm256_cvtepi32_ps(_mm256_sub_epi32(numbers, middle));
  for (int r = 0; r < kRows; ++r)
    dots[r] = _mm256_fmadd_ps(floats, _mm256_broadcast_ss(rows + r), dots[r]);
}

/// The products of a block. `numbers`: of the first of the 8 columns; `middle`: what each number is
/// less than it says.
template <int kRows, int kBits>
GANTRY_AVX2 inline void sum_block(const uint8_t* numbers, const float* rows, int64_t vectors,
                                  __m256i middle, __m256* dots) {
  const __m256i mask = _mm256_set1_epi32((1 << kBits) - 1);
  for (int64_t i = 0; i < vectors; ++i) {
    __m256i rest = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers));
    for (int k = 0; k < kQuad; ++k) {
      add_products<kRows>(_mm256_and_si256(rest, mask), middle, rows + k * kRows, dots);
      if constexpr (kBits == 4) {
        const __m256i high = _mm256_and_si256(_mm256_srli_epi32(rest, 4), mask);
        add_products<kRows>(high, middle, rows + (kQuad + k) * kRows, dots);
      }
      rest = _mm256_srli_epi32(rest, 8);
    }
    numbers += kGroup * kQuad;
    rows += kQuad * (8 / kBits) * kRows;
  }
}

template <int kRows, int kBits>
GANTRY_AVX2 void multiply_rows(const RowTile& tile, const ColumnGroup& group,
                               const BlockShape& shape, const Target& target, int first) {
  const bool has_zeros = group.zero_bytes || group.zero_floats;
  const __m256i middle = _mm256_set1_epi32(has_zeros ? 0 : 1 << (kBits - 1));
  const int64_t bytes = shape.vectors() * kGroup * kQuad;
  __m256 sums[kRows];
  for (int r = 0; r < kRows; ++r) sums[r] = _mm256_setzero_ps();
  for (int64_t block = 0; block < shape.blocks(); ++block) {
    __m256 dots[kRows];
    for (int r = 0; r < kRows; ++r) dots[r] = _mm256_setzero_ps();
    sum_block<kRows, kBits>(group.numbers + block * bytes + first * kQuad,
                            tile.floats + block * shape.block * kRows, shape.vectors(), middle,
                            dots);
    const int64_t offset = block * kGroup + first;
    if (has_zeros) {
      const __m256 zeros = zeros_avx2(group, offset);
      for (int r = 0; r < kRows; ++r) {
        const __m256 minus_sum = _mm256_broadcast_ss(tile.scales + block * kRows + r);
        dots[r] = _mm256_fmadd_ps(zeros, minus_sum, dots[r]);
      }
    }
    const __m256 scale = scales_avx2(group, offset);
    for (int r = 0; r < kRows; ++r) sums[r] = _mm256_fmadd_ps(dots[r], scale, sums[r]);
  }
  for (int r = 0; r < kRows; ++r) store_avx2(sums[r], group, target, r, first);
}

using Multiply = void (*)(const RowTile&, const ColumnGroup&, const BlockShape&, const Target&,
                          int);
using Table = std::array<Multiply, kMostFloatRowsAvx2>;

template <int kBits, int... kRows>
constexpr Table table_of(std::integer_sequence<int, kRows...>) {
  return {multiply_rows<kRows + 1, kBits>...};
}

constexpr auto kRowCounts = std::make_integer_sequence<int, kMostFloatRowsAvx2>();
constexpr Table kFourBits = table_of<4>(kRowCounts);
constexpr Table kEightBits = table_of<8>(kRowCounts);

}  // namespace

void multiply_floats_avx2(const RowTile& tile, const ColumnGroup& group, const BlockShape& shape,
                          const Target& target) {
  const Table& table = shape.bits == 8 ? kEightBits : kFourBits;
  const Multiply rows = table[static_cast<size_t>(tile.rows) - 1];
  for (int first = 0; first < target.columns; first += kAvx2Lanes)
    rows(tile, group, shape, target, first);
}

}  // namespace gantry::x86
