// SPDX-License-Identifier: Apache-2.0
#include "matmul/nbits/tiled_rows.h"

#include <algorithm>
#include <numeric>

#include "matmul/nbits/floats.h"

namespace gantry::x86 {

TiledRows::TiledRows(sdk::Call& call, const BlockShape& shape, bool in_floats,
                     std::span<const int64_t> counts)
    : code_(block_code()),
      shape_(shape),
      rows_(std::accumulate(counts.begin(), counts.end(), int64_t{0})) {
  const int64_t most = in_floats ? code_.most_float_rows : code_.most_rows;
  const auto matrices = static_cast<int64_t>(counts.size());
  const int64_t most_tiles = std::min(rows_, rows_ / most + matrices);
  tiles_ = call.scratch<Tile>(most_tiles);
  starts_ = call.scratch<int64_t>(most_tiles + 1);
  if (in_floats) {
    floats_ = call.scratch<float>(rows_ * shape_.padded());
  } else {
    numbers_ = call.scratch<int8_t>(rows_ * shape_.padded());
    corrections_ = call.scratch<int32_t>(rows_ * shape_.blocks());
  }
  scales_ = call.scratch<float>(rows_ * shape_.blocks());
  int64_t first = 0;
  for (int64_t matrix = 0; matrix < matrices; ++matrix) {  // in tiles of about equal heights
    const int64_t count = counts[static_cast<size_t>(matrix)];
    const int64_t tiles = (count + most - 1) / most;
    for (int64_t i = 0; i < tiles; ++i) {
      const int64_t begin = i * count / tiles;
      const int64_t end = (i + 1) * count / tiles;
      tiles_[tile_count_++] = {first + begin, matrix, static_cast<int>(end - begin)};
    }
    first += count;
  }
}

RowTile TiledRows::row_tile(const Tile& tile) const {
  RowTile rows{tile.rows};
  if (floats_) {
    rows.floats = floats_ + tile.first_row * shape_.padded();
  } else {
    rows.numbers = numbers_ + tile.first_row * shape_.padded();
    rows.corrections = corrections_ + tile.first_row * shape_.blocks();
  }
  rows.scales = scales_ + tile.first_row * shape_.blocks();
  return rows;
}

void TiledRows::fill(sdk::Call& call, std::span<const BlockWeights> matrices, const float* source,
                     const int64_t* order) const {
  constexpr int64_t kNumbersPerTask = 1 << 15;
  const auto take = floats_ ? interleave_floats : code_.quantize;
  const int64_t grain =
      std::max<int64_t>(1, kNumbersPerTask * tile_count_ / (rows_ * shape_.padded()));
  call.parallel_for(tile_count_, grain, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const Tile& tile = tiles_[index];
      const bool has_zeros = matrices[static_cast<size_t>(tile.matrix)].has_zeros();
      const int middle = has_zeros ? 1 : 1 << (shape_.bits - 1);
      const RowTile rows = row_tile(tile);
      for (int i = 0; i < tile.rows; ++i) {
        const int64_t row = order ? order[tile.first_row + i] : tile.first_row + i;
        take(source + row * shape_.inner, shape_, middle, rows, i);
      }
    }
  });
}

// Of each matrix as few ranges of tiles as keep below kBytesOfRange, about equally long. Returns
// their number; starts_[i]: the first tile of each, and behind them the end of the last.
int64_t TiledRows::make_ranges() const {
  constexpr int64_t kBytesOfRange = 512 << 10;
  const int64_t bytes_of_row = shape_.padded() * (floats_ ? int64_t{sizeof(float)} : 1);
  int64_t ranges = 0;
  for (int64_t first = 0; first < tile_count_;) {
    int64_t end = first + 1;
    while (end < tile_count_ && tiles_[end].matrix == tiles_[first].matrix) ++end;
    const int64_t bytes = (first_row(end) - first_row(first)) * bytes_of_row;
    const int64_t tiles = end - first;
    const int64_t parts = std::min(tiles, (bytes + kBytesOfRange - 1) / kBytesOfRange);
    for (int64_t i = 0; i < parts; ++i) starts_[ranges++] = first + i * tiles / parts;
    first = end;
  }
  starts_[ranges] = tile_count_;
  return ranges;
}

// Every group of columns stays in the nearest cache while it meets a range of tiles of its
// matrix, whose rows stay in the next one while they meet all groups. What is shared between
// threads is counted in rows times groups, since ranges differ in height.
void TiledRows::multiply(sdk::Call& call, std::span<const BlockWeights> matrices, const float* bias,
                         float* target) const {
  constexpr int64_t kMultipliesPerTask = 1 << 18;
  const int64_t ranges = make_ranges();
  const int64_t groups = matrices.front().group_count();
  const int64_t grain = std::max<int64_t>(1, kMultipliesPerTask / (shape_.padded() * kGroup));
  call.parallel_for(rows_ * groups, grain, [&](int64_t begin, int64_t end) {
    for (int64_t range = 0; range < ranges; ++range) {
      const int64_t row = first_row(starts_[range]);
      const int64_t rows = first_row(starts_[range + 1]) - row;
      // The first group of this range that is at `unit` or behind it.
      const auto group_at = [&](int64_t unit) {
        return std::clamp<int64_t>((unit - row * groups + rows - 1) / rows, 0, groups);
      };
      const int64_t last = group_at(end);
      for (int64_t group = group_at(begin); group < last; ++group) {
        for (int64_t index = starts_[range]; index < starts_[range + 1]; ++index) {
          const Tile& tile = tiles_[index];
          const BlockWeights& matrix = matrices[static_cast<size_t>(tile.matrix)];
          multiply_tile(tile, matrix, group, bias, target);
        }
      }
    }
  });
}

void TiledRows::multiply_tile(const Tile& tile, const BlockWeights& matrix, int64_t group,
                              const float* bias, float* target) const {
  const int64_t column = group * kGroup;
  const Target to{target + tile.first_row * shape_.columns + column, shape_.columns,
                  static_cast<int>(std::min<int64_t>(kGroup, shape_.columns - column)),
                  bias ? bias + tile.matrix * shape_.columns + column : nullptr};
  const auto multiply = floats_ ? code_.multiply_floats : code_.multiply;
  multiply(row_tile(tile), matrix.group(group), shape_, to);
}

}  // namespace gantry::x86
