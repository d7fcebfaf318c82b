// SPDX-License-Identifier: Apache-2.0
#include "matmul/nbits/dequantized_rows.h"

#include <algorithm>

#include "matmul/nbits/dequantize.h"
#include "matmul/packed/left_block.h"
#include "matmul/packed/panel_pass.h"
#include "simd/blocking.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kFloat = sizeof(float);

/// Blocks of a panel that are dequantized at once. They and the same part of a row block's rows
/// stay in the L2 cache.
int64_t blocks_of_part(const BlockShape& shape) {
  const int64_t bytes = shape.block * kPanelColumns * kFloat;
  return std::clamp<int64_t>(second_cache_bytes() / 16 / bytes, 1, shape.blocks());
}

int64_t most_rows_of_block(const BlockShape& shape) {
  const int64_t bytes = blocks_of_part(shape) * shape.block * kFloat;
  return std::max<int64_t>(second_cache_bytes() * 3 / 8 / bytes, 64);
}

struct Range {
  int64_t begin;
  int64_t end;
};

/// target = source times the transpose of the matrix + bias, as in multiply_dequantized().
struct DequantizedMatMul {
  const BlockWeights& matrix;
  const float* source;
  const float* bias;
  float* target;

  /// Computes some rows and panels.
  void multiply(const Range& rows, const Range& panels) const {
    const BlockShape& shape = matrix.shape();
    const int64_t step = blocks_of_part(shape);
    const int64_t count = rows.end - rows.begin;
    const int64_t tiles = divided_up(count, matmul_code()->most_rows);
    for (int64_t block = 0; block < shape.blocks(); block += step) {
      const Range part{block, std::min(block + step, shape.blocks())};
      const int64_t first = block * shape.block;
      const int64_t inner = std::min(part.end * shape.block, shape.inner) - first;
      const LeftBlock left = left_block({source + rows.begin * shape.inner + first, shape.inner},
                                        count, inner, divided_up(count, tiles));
      for (int64_t panel = panels.begin; panel < panels.end; ++panel)
        multiply_panel(rows, tiles, left, part, inner, panel * kPanelColumns);
    }
  }

 private:
  void multiply_panel(const Range& rows, int64_t tiles, const LeftBlock& left, const Range& part,
                      int64_t inner, int64_t column) const {
    const BlockShape& shape = matrix.shape();
    const int64_t width = panel_width(shape.columns, column);
    float* panel = panel_room((part.end - part.begin) * shape.block * width);
    for (int64_t first = 0; first < width; first += kGroup) {
      dequantize(matrix.group((column + first) / kGroup), shape, part.begin, part.end, width,
                 panel + first);
    }
    PanelPass pass({reinterpret_cast<const std::byte*>(panel), StorageDtype::kFloat, inner, width,
                    std::min(width, shape.columns - column), nullptr},
                   {left.stride, shape.columns, tiles});
    if (part.begin == 0 && bias) pass.add_bias(bias + column);
    const int64_t count = rows.end - rows.begin;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t row = tile * count / tiles;
      const int64_t next = (tile + 1) * count / tiles;
      float* to = target + (rows.begin + row) * shape.columns + column;
      pass.multiply(next - row, left.data + row * left.stride, part.begin > 0 ? to : nullptr, to);
    }
  }
};

}  // namespace

bool takes_dequantized(int64_t rows) {
  return matmul_code() && rows > 2 * block_code().most_float_rows;
}

void multiply_dequantized(sdk::Call& call, const BlockWeights& matrix, int64_t rows,
                          const float* source, const float* bias, float* target) {
  constexpr int64_t kMultipliesPerTask = 1 << 18;
  const BlockShape& shape = matrix.shape();
  const int64_t panels = divided_up(shape.columns, kPanelColumns);
  const int64_t row_blocks = divided_up(rows, most_rows_of_block(shape));
  const int64_t products = rows / row_blocks * shape.inner * kPanelColumns;  // of a task
  const DequantizedMatMul matmul{matrix, source, bias, target};
  call.parallel_for(row_blocks * panels, std::max<int64_t>(1, kMultipliesPerTask / products),
                    [&](int64_t begin, int64_t end) {
                      while (begin < end) {  // the panels of one row block at once
                        const int64_t row_block = begin / panels;
                        const int64_t last = std::min(end, (row_block + 1) * panels);
                        matmul.multiply(
                            {row_block * rows / row_blocks, (row_block + 1) * rows / row_blocks},
                            {begin % panels, begin % panels + last - begin});
                        begin = last;
                      }
                    });
}

}  // namespace gantry::x86
