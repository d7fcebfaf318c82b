// SPDX-License-Identifier: Apache-2.0
#include "recurrent/int8_code.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "int8/amx_tiles.h"
#include "simd/blocking.h"
#include "simd/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "recurrent/int8_code.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "int8/byte_rows-inl.h"
#include "recurrent/cells-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// Sums of some rows with a block of weights.
struct Int8Tile {
  static constexpr int64_t kMostRows =
      std::max({kAmxTiles * kTilePositions, kVnniRows, int64_t{kByteRows}});
  int64_t row = 0;
  int64_t rows = 0;
  HWY_ALIGN int32_t sums[kInt8Gates * kMostRows * kUnitBlock];  // [gates, rows, kUnitBlock]
};

template <int kRows>
void multiply_bytes_of_tile(const Int8Gates& gates, const uint8_t* numbers, int64_t block,
                            Int8Tile& tile) {
  constexpr int32_t kZeros[kPanelsOfTile * kUnitBlock] = {};
  static_assert(kInt8Gates % kPanelsOfTile == 0);
  for (int g = 0; g < kInt8Gates; g += kPanelsOfTile) {
    BytePanel panels[kPanelsOfTile];
    for (int i = 0; i < kPanelsOfTile; ++i) {
      const int64_t panel = gates.first_panel + block * kInt8Gates + g + i;
      panels[i] = BytePanel(gates.panels, panel, gates.quads);
    }
    int32_t* const sums = tile.sums + g * kRows * kUnitBlock;
    if (gates.panels.are_whole) {
      multiply_bytes<kRows, kPanelsOfTile, kMayHaveQuadSums>(panels, numbers, gates.quads, kZeros,
                                                             sums);
    } else {
      multiply_bytes<kRows, kPanelsOfTile, false>(panels, numbers, gates.quads, kZeros, sums);
    }
  }
}

/// Divides rows into tiles and computes their sums, with the best instructions for `rows` rows.
class Int8Multiplier {
 public:
  Int8Multiplier(const Int8Gates& gates, const QuantizedRows& x, int64_t rows)
      : gates_(gates), x_(x), rows_(rows), has_vnni_(gates.weights != nullptr) {
    constexpr int64_t kFewRows = 3;  // VNNI is as fast
    if (has_vnni_ && rows > kFewRows && has_tile_code()) {
      rows_of_tile_ = std::min(rows, kTilePositions);
      tiles_.emplace(rows_of_tile_);
    }
  }

  /// Advances `tile` to the next one, or to the first one; false: there is none.
  bool next(Int8Tile& tile) const {
    constexpr int64_t kFewRows = 3;
    tile.row += tile.rows;
    const int64_t left = rows_ - tile.row;
    if (tiles_ && left >= rows_of_tile_) {
      tile.rows = std::min(left / rows_of_tile_, kAmxTiles) * rows_of_tile_;
    } else if (has_vnni_) {
      // Tiles of about equal heights, as each reads all weights.
      tile.rows = left > 0 ? divided_up(left, divided_up(left, kVnniRows)) : 0;
    } else {
      tile.rows = left >= kByteRows ? kByteRows : left >= kFewRows ? kFewRows : 1;
    }
    return left > 0;
  }

  /// Computes the sums of a tile with a block of weights.
  void multiply(int64_t block, Int8Tile& tile) const {
    const uint8_t* numbers = x_.numbers + tile.row * gates_.quads * 4;
    if (has_vnni_) {
      const int64_t block_bytes = gates_.quads * 4 * kInt8Gates * kUnitBlock;
      const Int8Block of_tile{gates_.weights + block * block_bytes, numbers, tile.rows,
                              gates_.quads, gates_.quads_of_step};
      tiles_&& tile.rows >= rows_of_tile_ ? multiply_with_amx(of_tile, rows_of_tile_, tile.sums)
                                          : multiply_with_vnni(of_tile, tile.sums);
    } else if (tile.rows == kByteRows) {
      multiply_bytes_of_tile<kByteRows>(gates_, numbers, block, tile);
    } else if (tile.rows == 1) {
      multiply_bytes_of_tile<1>(gates_, numbers, block, tile);
    } else {
      multiply_bytes_of_tile<3>(gates_, numbers, block, tile);
    }
  }

 private:
  const Int8Gates& gates_;
  const QuantizedRows& x_;
  int64_t rows_;
  bool has_vnni_;
  int64_t rows_of_tile_ = 0;
  std::optional<Tiles> tiles_;  // of AMX
};

/// Dequantizes the sums of kLanes units of a gate: zero-point compensation, then scales.
struct GateScale {
  V32I start;
  V32 scale;

  GateScale() = default;
  HWY_INLINE GateScale(const Int8Gates& gates, const QuantizedRows& x, int64_t at) {
    const I32 d;
    start = hn::Mul(hn::LoadU(d, gates.sums + at), hn::Set(d, -x.zero_point));
    scale = hn::Mul(hn::LoadU(F32(), gates.scales + at), hn::Set(F32(), x.scale));
  }
  [[nodiscard]] HWY_INLINE V32 apply(const int32_t* sums, int32_t of_row) const {
    const I32 d;
    const V32I sum = hn::Add(hn::Add(hn::LoadU(d, sums), start), hn::Set(d, of_row));
    return hn::Mul(hn::ConvertTo(F32(), sum), scale);
  }
};

/// The same for all gates, for kLanes units of a block from `lane` on.
struct BlockScales {
  GateScale gates[kInt8Gates];

  HWY_INLINE BlockScales(const Int8Gates& weights, const QuantizedRows& x, int64_t block,
                         int64_t lane) {
    for (int64_t g = 0; g < kInt8Gates; ++g)
      gates[g] = GateScale(weights, x, (block * kInt8Gates + g) * kUnitBlock + lane);
  }
  /// Row `r` of a tile as floats.
  HWY_INLINE void apply(const Int8Tile& tile, int64_t r, int64_t lane, int32_t of_row,
                        V32* results) const {
    for (int64_t g = 0; g < kInt8Gates; ++g) {
      const int32_t* sums = tile.sums + (g * tile.rows + r) * kUnitBlock + lane;
      results[g] = gates[g].apply(sums, of_row);
    }
  }
};

void project_rows(const Int8Gates& gates, const QuantizedRows& x, int64_t rows, const float* bias,
                  int64_t begin, int64_t end, float* target, int64_t stride) {
  const F32 d;
  const Int8Multiplier multiplier(gates, x, rows);
  for (int64_t block = begin; block < end; ++block) {
    for (Int8Tile tile; multiplier.next(tile);) {
      multiplier.multiply(block, tile);
      for (int64_t lane = 0; lane < kUnitBlock; lane += kLanes) {
        const BlockScales scales(gates, x, block, lane);
        for (int64_t r = 0; r < tile.rows; ++r) {
          V32 products[kInt8Gates];
          scales.apply(tile, r, lane, -gates.zero_point * x.sums[tile.row + r], products);
          for (int64_t g = 0; g < kInt8Gates; ++g) {
            const int64_t at = (block * kInt8Gates + g) * kUnitBlock + lane;
            hn::StoreU(hn::Add(products[g], hn::LoadU(d, bias + at)), d,
                       target + (tile.row + r) * stride + at);
          }
        }
      }
    }
  }
}

void project_here(const Int8Gates& gates, const QuantizedRows& x, int64_t rows, const float* bias,
                  int64_t begin, int64_t end, float* target, int64_t stride) {
  // Rows that stay in the cache while all weights are read. With AMX one tile, which is multiplied
  // as soon as its weights are loaded.
  const int64_t most = has_tile_code() ? kAmxTiles * kTilePositions : 128;
  for (int64_t row = 0; row < rows; row += most) {
    QuantizedRows some = x;
    some.numbers += row * gates.quads * 4;
    some.sums += row;
    project_rows(gates, some, std::min(most, rows - row), bias, begin, end, target + row * stride,
                 stride);
  }
}

void run_int8_step_here(const RecurrentStep& s, const Int8Gates& gates, const QuantizedRows& x,
                        int64_t begin, int64_t end) {
  const Int8Multiplier multiplier(gates, x, s.rows);
  for (int64_t block = begin; block < end; ++block) {  // each block's weights are read once
    for (Int8Tile tile; multiplier.next(tile);) {
      multiplier.multiply(block, tile);
      for (int64_t lane = 0; lane < kUnitBlock; lane += kLanes) {
        const Units units(s.hidden, block * kUnitBlock + lane);
        if (units.count <= 0) break;
        const BlockScales scales(gates, x, block, lane);
        for (int64_t r = 0; r < tile.rows; ++r) {
          V32 sums[kInt8Gates];
          scales.apply(tile, r, lane, -gates.zero_point * x.sums[tile.row + r], sums);
          finish_row<CellKind::kLstm>(s, units, tile.row + r, sums);
        }
      }
    }
  }
}

Range range_here(const float* from, int64_t rows, int64_t count, int64_t stride) {
  const F32 d;
  V32 least = hn::Zero(d);
  V32 largest = hn::Zero(d);
  V32 zeros = hn::Zero(d);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < count; i += kLanes) {
      const Units some(count, i);
      const V32 x = some.load(from + row * stride);
      least = hn::Min(x, least);  // the second operand if the first is NaN
      largest = hn::Max(x, largest);
      zeros = hn::MulAdd(x, hn::Zero(d), zeros);  // NaN once an element is not finite
    }
  }
  return {hn::GetLane(hn::MinOfLanes(d, least)), hn::GetLane(hn::MaxOfLanes(d, largest)),
          hn::AllTrue(d, hn::Eq(zeros, zeros))};
}

void quantize_here(const float* from, int64_t rows, int64_t count, int64_t stride,
                   const QuantizedRows& by, int64_t quads, uint8_t* numbers, int32_t* sums) {
  const F32 d;
  const I32 d32;
  const hn::Rebind<uint8_t, I32> d8;
  const V32 scale = hn::Set(d, by.scale);
  const V32 low = hn::Set(d, static_cast<float>(-by.zero_point));
  const V32 high = hn::Set(d, static_cast<float>(255 - by.zero_point));
  const V32I zero = hn::Set(d32, by.zero_point);
  for (int64_t row = 0; row < rows; ++row) {
    V32I sum = hn::Zero(d32);
    uint8_t* to = numbers + row * quads * 4;
    for (int64_t i = 0; i < count; i += kLanes) {
      const Units some(count, i);
      // Divided: a product with the reciprocal would sometimes round to another integer.
      const V32 x = hn::Div(some.load(from + row * stride), scale);
      const V32I rounded = hn::NearestInt(hn::Min(hn::Max(x, low), high));  // NaN becomes low
      sum = hn::Add(sum, rounded);                                          // missing lanes are 0
      const auto bytes = hn::DemoteTo(d8, hn::Add(rounded, zero));
      if (some.count == kLanes) {
        hn::StoreU(bytes, d8, to + i);
      } else {
        HWY_ALIGN uint8_t all[kMostLanes];
        hn::StoreU(bytes, d8, all);
        std::memcpy(to + i, all, static_cast<size_t>(some.count));
      }
    }
    std::fill(to + count, to + quads * 4, uint8_t{0});
    sums[row] = hn::GetLane(hn::SumOfLanes(d32, sum));
  }
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(project_here);
HWY_EXPORT(run_int8_step_here);
HWY_EXPORT(range_here);
HWY_EXPORT(quantize_here);

Range range_of(const float* from, int64_t rows, int64_t count, int64_t stride) {
  keep_to_allowed_instructions();
  return HWY_DYNAMIC_DISPATCH(range_here)(from, rows, count, stride);
}

void set_range(const Range& range, QuantizedRows& rows) {
  constexpr float kMost = 255;
  if (!range.is_finite) {
    rows.scale = std::numeric_limits<float>::quiet_NaN();
    rows.zero_point = 0;
    return;
  }
  rows.scale = (range.largest - range.least) / kMost;
  if (rows.scale == 0) rows.scale = 1;  // all elements are zero, or tiny
  const float zero = std::clamp(-range.least / rows.scale, 0.0F, kMost);
  rows.zero_point = static_cast<int32_t>(std::nearbyint(zero));
}

void quantize_rows(const float* from, int64_t rows, int64_t count, int64_t stride,
                   const QuantizedRows& by, int64_t quads, uint8_t* numbers, int32_t* sums) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(quantize_here)(from, rows, count, stride, by, quads, numbers, sums);
}

void project_int8(const Int8Gates& gates, const QuantizedRows& x, int64_t rows, const float* bias,
                  int64_t begin, int64_t end, float* target, int64_t stride) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(project_here)(gates, x, rows, bias, begin, end, target, stride);
}

void run_int8_step(const RecurrentStep& step, const Int8Gates& gates, const QuantizedRows& before,
                   int64_t begin, int64_t end) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(run_int8_step_here)(step, gates, before, begin, end);
}

}  // namespace gantry::x86
#endif
