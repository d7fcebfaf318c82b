// SPDX-License-Identifier: Apache-2.0
// Block-quantized matmul in plain C++: for CPUs without AVX2, and the reference of the tests.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "matmul/nbits/code.h"

namespace gantry::x86 {
namespace {

constexpr int kMostRows = 4;

void quantize(const float* source, const BlockShape& shape, int middle, const RowTile& tile,
              int row) {
  for (int64_t block = 0; block < shape.blocks(); ++block) {
    const float* first = source + block * shape.block;
    const int64_t count = std::min(shape.block, shape.inner - block * shape.block);
    uint32_t largest = 0;
    for (int64_t i = 0; i < count; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, first + i, sizeof(bits));
      largest = std::max(largest, bits & 0x7fffffffU);
    }
    float inverse = 0;
    const int64_t offset = block * tile.rows + row;
    tile.scales[offset] = scale_of_largest(largest, inverse);
    int32_t sum = 0;
    for (int64_t i = 0; i < shape.block; ++i) {
      const int64_t at = block * shape.block + i;
      const auto number =
          i < count && inverse > 0 ? static_cast<int8_t>(std::nearbyint(first[i] * inverse)) : 0;
      tile.numbers[(at / kQuad * tile.rows + row) * kQuad + at % kQuad] =
          static_cast<int8_t>(number);
      sum += number;
    }
    tile.corrections[offset] = -sum * middle;
  }
}

using Lanes = std::array<int32_t, kGroup>;

/// Adds the integer products of one row with one vector of elements.
template <int kBits>
void add_products(const uint8_t* vector, const int8_t* quad, int64_t stride, Lanes& lanes) {
  for (int lane = 0; lane < kGroup; ++lane) {
    for (int i = 0; i < kQuad; ++i) {
      const int number = vector[lane * kQuad + i];
      if constexpr (kBits == 8) {
        lanes[lane] += number * quad[i];
      } else {
        lanes[lane] += (number & 15) * quad[i] + (number >> 4) * quad[stride + i];
      }
    }
  }
}

template <int kBits>
void multiply_row(const RowTile& tile, int row, const ColumnGroup& group, const BlockShape& shape,
                  std::array<float, kGroup>& sums) {
  const int64_t stride = int64_t{tile.rows} * kQuad;
  const int8_t* quad = tile.numbers + row * kQuad;
  const uint8_t* vector = group.numbers;
  for (int64_t block = 0; block < shape.blocks(); ++block) {
    Lanes lanes{};
    for (int64_t i = 0; i < shape.vectors(); ++i) {
      add_products<kBits>(vector, quad, stride, lanes);
      vector += kGroup * kQuad;
      quad += stride * (8 / kBits);
    }
    const auto correction = static_cast<float>(tile.corrections[block * tile.rows + row]);
    const float scale = tile.scales[block * tile.rows + row];
    for (int lane = 0; lane < kGroup; ++lane) {
      const int64_t offset = block * kGroup + lane;
      const float zero = group.zero_bytes    ? static_cast<float>(group.zero_bytes[offset])
                         : group.zero_floats ? group.zero_floats[offset]
                                             : 1.0F;
      const float of_column =
          group.multiples ? static_cast<float>(group.multiples[offset]) : group.scales[offset];
      sums[lane] += (static_cast<float>(lanes[lane]) + zero * correction) * (scale * of_column);
    }
  }
}

void multiply(const RowTile& tile, const ColumnGroup& group, const BlockShape& shape,
              const Target& target) {
  for (int row = 0; row < tile.rows; ++row) {
    std::array<float, kGroup> sums{};
    if (shape.bits == 8) {
      multiply_row<8>(tile, row, group, shape, sums);
    } else {
      multiply_row<4>(tile, row, group, shape, sums);
    }
    float* to = target.data + row * target.stride;
    for (int lane = 0; lane < target.columns; ++lane) {
      to[lane] = sums[lane] * (group.steps ? group.steps[lane] : 1) +
                 (target.bias ? target.bias[lane] : 0);
    }
  }
}

}  // namespace

const BlockCode kPlainCode = {"plain", kMostRows, 0, quantize, multiply, nullptr};

}  // namespace gantry::x86
