// SPDX-License-Identifier: Apache-2.0
#include "matmul/packed/left_block.h"

#include <cstring>
#include <numeric>
#include <vector>

#include "simd/blocking.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kFloatsOfLine = 16;
// Floats that fill one line of each set, on all x86 CPUs: addresses so far apart share a set.
constexpr int64_t kFloatsOfSets = 64 * kFloatsOfLine;
constexpr int64_t kMostRowsOfSet = 8;  // sets have 8 to 12 ways

bool is_crowded(int64_t stride, int64_t rows_of_tile) {
  const int64_t sets = kFloatsOfSets / std::gcd(stride, kFloatsOfSets);
  return rows_of_tile > sets * kMostRowsOfSet;
}

}  // namespace

LeftBlock left_block(const LeftBlock& source, int64_t rows, int64_t inner, int64_t rows_of_tile) {
  if (!is_crowded(source.stride, rows_of_tile)) return source;
  static thread_local std::vector<float> copy;
  const int64_t lines = divided_up(inner, kFloatsOfLine) | 1;  // odd: all sets in turn
  const int64_t stride = lines * kFloatsOfLine;
  if (copy.size() < static_cast<size_t>(rows * stride))
    copy.resize(static_cast<size_t>(rows * stride));
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(copy.data() + row * stride, source.data + row * source.stride,
                static_cast<size_t>(inner) * sizeof(float));
  }
  return {copy.data(), stride};
}

}  // namespace gantry::x86
