// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <immintrin.h>

#include "int8/results_avx512.h"
#include "recurrent/int8_code.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kQuad = 4;
constexpr int64_t kLine = kUnitBlock * kQuad;  // bytes of a quad of a gate

/// With few rows each sum is split into this many independent dependency chains.
constexpr int parts_for(int rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }
static_assert(kVnniStep % parts_for(1) == 0 && kAmxStep % parts_for(1) == 0);

template <int kRows>
GANTRY_VNNI void multiply(const Int8Block& block, int32_t* to) {
  constexpr int kParts = parts_for(kRows);
  constexpr int kGates = kInt8Gates;
  __m512i sums[kParts * kGates * kRows];
  const auto at = [](int part, int g, int r) { return (part * kGates + g) * kRows + r; };
  // Unrolled, here and below, so that the sums stay in registers.
#pragma GCC unroll 24
  for (int i = 0; i < kParts * kGates * kRows; ++i) sums[i] = _mm512_setzero_si512();
  const int64_t row_bytes = block.quads * kQuad;
  const int64_t gate_bytes = block.quads_of_step * kLine;
  const int8_t* weights = block.weights;
  const uint8_t* numbers = block.numbers;
  for (int64_t step = 0; step < block.quads; step += block.quads_of_step) {
    for (int64_t quad = 0; quad < block.quads_of_step; quad += kParts) {
#pragma GCC unroll 12
      for (int part = 0; part < kParts; ++part) {
        __m512i w[kGates];
#pragma GCC unroll 12
        for (int g = 0; g < kGates; ++g) w[g] = _mm512_loadu_si512(weights + g * gate_bytes);
#pragma GCC unroll 12
        for (int r = 0; r < kRows; ++r) {
          int32_t four = 0;
          std::memcpy(&four, numbers + r * row_bytes, sizeof(four));
          const __m512i x = _mm512_set1_epi32(four);
#pragma GCC unroll 12
          for (int g = 0; g < kGates; ++g)
            sums[at(part, g, r)] = _mm512_dpbusd_epi32(sums[at(part, g, r)], x, w[g]);
        }
        numbers += kQuad;
        weights += kLine;
      }
    }
    weights += (kGates - 1) * gate_bytes;
  }
#pragma GCC unroll 12
  for (int g = 0; g < kGates; ++g) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      __m512i sum = sums[at(0, g, r)];
#pragma GCC unroll 12
      for (int part = 1; part < kParts; ++part) sum = _mm512_add_epi32(sum, sums[at(part, g, r)]);
      _mm512_storeu_si512(to + (g * kRows + r) * kUnitBlock, sum);
    }
  }
}

}  // namespace

void multiply_with_vnni(const Int8Block& block, int32_t* sums) {
  using Multiply = void (*)(const Int8Block&, int32_t*);
  constexpr Multiply kByRows[kVnniRows] = {multiply<1>, multiply<2>, multiply<3>,
                                           multiply<4>, multiply<5>, multiply<6>};
  kByRows[block.rows - 1](block, sums);
}

}  // namespace gantry::x86
