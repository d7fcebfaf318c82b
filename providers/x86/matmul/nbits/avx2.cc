// SPDX-License-Identifier: Apache-2.0
// Block-quantized matmul with AVX2: 8 columns at a time, pairs of bytes added in 16 bits. 8-bit
// elements are split into two nibbles, so that no sum of a pair saturates.
#include "matmul/nbits/avx2.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <immintrin.h>

#include "matmul/nbits/floats.h"

namespace gantry::x86 {
namespace {

constexpr int kMostRows = 4;
constexpr int kLanes = kAvx2Lanes;
/// Elements of a column after which 16-bit sums are widened to 32: 16 products of 15 and 127 fit.
constexpr int64_t kSpan = 32;

GANTRY_AVX2 inline __m256i broadcast(const int8_t* quad) {
  int32_t bits = 0;
  std::memcpy(&bits, quad, sizeof(bits));
  return _mm256_set1_epi32(bits);
}

/// The bits of the largest absolute value of a block.
GANTRY_AVX2 inline uint32_t largest_of(const float* block, int64_t count) {
  const __m256i sign = _mm256_set1_epi32(0x7fffffff);
  __m256i largest = _mm256_setzero_si256();
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + i));
    largest = _mm256_max_epi32(largest, _mm256_and_si256(bits, sign));
  }
  __m128i part =
      _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
  part = _mm_max_epi32(part, _mm_shuffle_epi32(part, 0x4e));
  part = _mm_max_epi32(part, _mm_shuffle_epi32(part, 0xb1));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(part));
}

/// Quantizes a block into quads that are `stride` bytes apart; returns the sum of its elements.
GANTRY_AVX2 inline int32_t round_block(const float* block, int64_t count, float inverse,
                                       int8_t* quads, int64_t stride) {
  const __m256 factor = _mm256_set1_ps(inverse);
  __m256i sums = _mm256_setzero_si256();
  for (int64_t i = 0; i < count; i += kLanes) {
    const __m256i numbers = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(block + i), factor));
    sums = _mm256_add_epi32(sums, numbers);
    const __m256i halves = _mm256_packs_epi32(numbers, numbers);
    const __m256i bytes = _mm256_packs_epi16(halves, halves);
    const int32_t first = _mm_cvtsi128_si32(_mm256_castsi256_si128(bytes));
    const int32_t second = _mm_cvtsi128_si32(_mm256_extracti128_si256(bytes, 1));
    std::memcpy(quads, &first, sizeof(first));
    std::memcpy(quads + stride, &second, sizeof(second));
    quads += 2 * stride;
  }
  __m128i part = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  part = _mm_add_epi32(part, _mm_shuffle_epi32(part, 0x4e));
  part = _mm_add_epi32(part, _mm_shuffle_epi32(part, 0xb1));
  return _mm_cvtsi128_si32(part);
}

/// Adds 16-bit sums times `factor` to 32-bit sums.
GANTRY_AVX2 inline __m256i widen(__m256i sums, __m256i halves, int16_t factor) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(halves, _mm256_set1_epi16(factor)));
}

/// The integer products of a block of kHalves * 8 columns with kRows rows: dots[row * kHalves +
/// half].
template <int kRows, int kBits, int kHalves>
GANTRY_AVX2 inline void sum_block(const uint8_t* numbers, const int8_t* quads, int64_t block,
                                  __m256i* dots) {
  const __m256i low_half = _mm256_set1_epi8(15);
  for (int64_t from = 0; from < block; from += kSpan) {
    const int64_t count = std::min(kSpan, block - from) * kBits / (8 * kQuad);
    __m256i low_sums[kRows * kHalves];
    __m256i high_sums[kRows * kHalves];
    for (int i = 0; i < kRows * kHalves; ++i) low_sums[i] = high_sums[i] = _mm256_setzero_si256();
    for (int64_t i = 0; i < count; ++i) {
      for (int h = 0; h < kHalves; ++h) {
        const auto* at = reinterpret_cast<const __m256i*>(numbers) + h;
        const __m256i both = _mm256_loadu_si256(at);
        const __m256i low = _mm256_and_si256(both, low_half);
        const __m256i high = _mm256_and_si256(_mm256_srli_epi16(both, 4), low_half);
        for (int r = 0; r < kRows; ++r) {
          const __m256i first = broadcast(quads + r * kQuad);
          const __m256i second = kBits == 8 ? first : broadcast(quads + (kRows + r) * kQuad);
          __m256i& low_sum = low_sums[r * kHalves + h];
          __m256i& high_sum = kBits == 8 ? high_sums[r * kHalves + h] : low_sum;
          low_sum = _mm256_add_epi16(low_sum, _mm256_maddubs_epi16(low, first));
          high_sum = _mm256_add_epi16(high_sum, _mm256_maddubs_epi16(high, second));
        }
      }
      numbers += kGroup * kQuad;
      quads += kRows * kQuad * (8 / kBits);
    }
    for (int i = 0; i < kRows * kHalves; ++i) {
      dots[i] = widen(dots[i], low_sums[i], 1);
      if (kBits == 8) dots[i] = widen(dots[i], high_sums[i], 16);
    }
  }
}

/// kHalves * 8 columns from `first` on: both halves of a group's cache lines at once, if there is
/// one row, which is bound by reading them.
template <int kRows, int kBits, int kHalves = 1>
GANTRY_AVX2 void multiply_rows(const RowTile& tile, const ColumnGroup& group,
                               const BlockShape& shape, const Target& target, int first) {
  __m256 sums[kRows * kHalves];
  for (__m256& sum : sums) sum = _mm256_setzero_ps();
  const bool has_zeros = group.zero_bytes || group.zero_floats;
  const int64_t bytes = shape.vectors() * kGroup * kQuad;
  for (int64_t block = 0; block < shape.blocks(); ++block) {
    const int32_t* corrections = tile.corrections + block * kRows;
    __m256i dots[kRows * kHalves];
    for (int i = 0; i < kRows * kHalves; ++i)
      dots[i] = _mm256_set1_epi32(has_zeros ? 0 : corrections[i / kHalves]);
    sum_block<kRows, kBits, kHalves>(group.numbers + block * bytes + first * kQuad,
                                     tile.numbers + block * shape.block * kRows, shape.block, dots);
    for (int h = 0; h < kHalves; ++h) {
      const int64_t offset = block * kGroup + first + h * kLanes;
      const __m256 scale = scales_avx2(group, offset);
      const __m256 zeros = has_zeros ? zeros_avx2(group, offset) : _mm256_setzero_ps();
      for (int r = 0; r < kRows; ++r) {
        __m256 products = _mm256_cvtepi32_ps(dots[r * kHalves + h]);
        if (has_zeros) {
          const auto correction = static_cast<float>(corrections[r]);
          products = _mm256_fmadd_ps(zeros, _mm256_set1_ps(correction), products);
        }
        const __m256 factor = _mm256_mul_ps(scale, _mm256_set1_ps(tile.scales[block * kRows + r]));
        sums[r * kHalves + h] = _mm256_fmadd_ps(products, factor, sums[r * kHalves + h]);
      }
    }
  }
  for (int i = 0; i < kRows * kHalves; ++i)
    store_avx2(sums[i], group, target, i / kHalves, first + i % kHalves * kLanes);
}

using Multiply = void (*)(const RowTile&, const ColumnGroup&, const BlockShape&, const Target&,
                          int);

constexpr std::array<std::array<Multiply, kMostRows>, 2> kMultiply = {{
    {multiply_rows<1, 4>, multiply_rows<2, 4>, multiply_rows<3, 4>, multiply_rows<4, 4>},
    {multiply_rows<1, 8>, multiply_rows<2, 8>, multiply_rows<3, 8>, multiply_rows<4, 8>},
}};
constexpr std::array<Multiply, 2> kMultiplyWholeGroup = {multiply_rows<1, 4, 2>,
                                                         multiply_rows<1, 8, 2>};

void multiply(const RowTile& tile, const ColumnGroup& group, const BlockShape& shape,
              const Target& target) {
  const size_t bits = shape.bits == 8 ? 1 : 0;
  if (tile.rows == 1 && target.columns > kLanes)
    return kMultiplyWholeGroup[bits](tile, group, shape, target, 0);
  const Multiply rows = kMultiply[bits][static_cast<size_t>(tile.rows) - 1];
  for (int first = 0; first < target.columns; first += kLanes)
    rows(tile, group, shape, target, first);
}

}  // namespace

GANTRY_AVX2 void quantize_avx2(const float* source, const BlockShape& shape, int middle,
                               const RowTile& tile, int row) {
  constexpr int64_t kLongest = 128;
  const int64_t stride = int64_t{tile.rows} * kQuad;
  for (int64_t block = 0; block < shape.blocks(); ++block) {
    const float* first = source + block * shape.block;
    const int64_t count = std::min(shape.block, shape.inner - block * shape.block);
    std::array<float, kLongest> filled;
    if (count < shape.block) {
      filled.fill(0);
      std::copy(first, first + count, filled.begin());
      first = filled.data();
    }
    float inverse = 0;
    const int64_t offset = block * tile.rows + row;
    tile.scales[offset] = scale_of_largest(largest_of(first, shape.block), inverse);
    int8_t* quads = tile.numbers + block * shape.block * tile.rows + row * kQuad;
    const int32_t sum = round_block(first, shape.block, inverse, quads, stride);
    // Elements of a block that is not finite are arbitrary: its scale is NaN.
    tile.corrections[offset] = inverse > 0 ? -sum * middle : 0;
  }
}

const BlockCode kAvx2Code = {"avx2",        kMostRows, kMostFloatRowsAvx2,
                             quantize_avx2, multiply,  multiply_floats_avx2};

}  // namespace gantry::x86
