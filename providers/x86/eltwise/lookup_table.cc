// SPDX-License-Identifier: Apache-2.0
#include "eltwise/lookup_table.h"

#include <algorithm>
#include <cmath>
#include <immintrin.h>

#include "int8/vnni.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kVector = 64;

[[gnu::target("avx512f,avx512bw,avx512vbmi")]] void map_vectors(const LookupTable& table,
                                                                const uint8_t* from, uint8_t* to,
                                                                int64_t count) {
  // Two tables of 128 results, by the lower bits; the highest bit tells which.
  const __m512i first = _mm512_loadu_si512(table.data());
  const __m512i second = _mm512_loadu_si512(table.data() + kVector);
  const __m512i third = _mm512_loadu_si512(table.data() + 2 * kVector);
  const __m512i fourth = _mm512_loadu_si512(table.data() + 3 * kVector);
  for (int64_t i = 0; i < count; i += kVector) {
    const int64_t left = count - i;
    const __mmask64 lanes = left >= kVector ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    const __m512i numbers = _mm512_maskz_loadu_epi8(lanes, from + i);
    const __m512i low = _mm512_permutex2var_epi8(first, numbers, second);
    const __m512i high = _mm512_permutex2var_epi8(third, numbers, fourth);
    const __m512i results = _mm512_mask_blend_epi8(_mm512_movepi8_mask(numbers), low, high);
    _mm512_mask_storeu_epi8(to + i, lanes, results);
  }
}

}  // namespace

std::array<float, kInt8Values> floats_of_bytes(const Quantization& quantization) {
  std::array<float, kInt8Values> floats{};
  for (size_t byte = 0; byte < kInt8Values; ++byte) {
    const int number = quantization.type == Type::u8 ? static_cast<int>(byte)
                                                     : static_cast<int>(static_cast<int8_t>(byte));
    floats[byte] = static_cast<float>(number - quantization.zero_point) * quantization.scale;
  }
  return floats;
}

LookupTable bytes_of_floats(const std::array<float, kInt8Values>& floats,
                            const Quantization& quantization) {
  LookupTable table{};
  const float low = quantization.type == Type::u8 ? 0.0F : -128.0F;
  for (size_t byte = 0; byte < kInt8Values; ++byte) {
    const float number = std::nearbyint(floats[byte] / quantization.scale) +
                         static_cast<float>(quantization.zero_point);
    const float kept = number > low ? std::min(number, low + 255) : low;
    table[byte] = static_cast<uint8_t>(static_cast<int>(kept));
  }
  return table;
}

void map_bytes(const LookupTable& table, const uint8_t* from, uint8_t* to, int64_t count) {
  static const bool has_vectors = has_vnni_code() && __builtin_cpu_supports("avx512vbmi") != 0;
  if (has_vectors) return map_vectors(table, from, to, count);
  for (int64_t i = 0; i < count; ++i) to[i] = table[from[i]];
}

}  // namespace gantry::x86
