// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

#include "int8/amx_tiles.h"
#include "int8/results_avx512.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kLine = 64;  // bytes of a cache line
constexpr int64_t kFloat = sizeof(float);
constexpr int32_t kNowhere = -1;  // target index of dropped positions

/// A product of some tiles of positions and some tiles of results.
struct Block {
  std::array<const uint8_t*, kSumTiles> positions;  // first position of each tile
  int64_t position_bytes;
  const int64_t* offsets;
  int64_t steps;
  const int8_t* weights;  // of the first tile of results
  const int32_t* starts;  // of the first tile of results
  const int8_t* ahead;    // weights to prefetch
  int64_t ahead_step;     // bytes to prefetch in each step
};

using Sums = int32_t[kSumTiles][kTilePositions][kTileChannels];

template <int kPositions, int kResults, int... kSum>
inline void start_sums(const Block& block, std::integer_sequence<int, kSum...>) {
  (load_tile<kSum>(block.starts + kSum % kResults * kTileChannels, 0), ...);  // one row for all
}

template <int kResults, int kPositions, bool kSigned, int... kResult>
inline void multiply_positions(const uint8_t* from, int64_t distance,
                               std::integer_sequence<int, kResult...>) {
  constexpr int kTile = kFirstPositionTile + kPositions % 2;
  load_tile<kTile>(from, distance);
  (multiply_tile<kSigned, kPositions * kResults + kResult, kTile, kFirstWeightTile + kResult>(),
   ...);
}

template <int kResult, bool kSigned>
inline void multiply_weights(const int8_t* weights) {
  constexpr int kTile = kFirstWeightTile + kResult % 2;
  load_tile<kTile>(weights, kTileBytes);
  multiply_tile<kSigned, kResult, kFirstPositionTile, kTile>();
}

/// Leaves the sums in tile registers, those of the first tile of positions first.
template <int kPositions, int kResults, bool kSigned>
void multiply(const Block& block) {
  static_assert(kPositions * kResults <= kSumTiles && (kResults <= 2 || kPositions == 1));
  asm volatile("" ::: "memory");
  start_sums<kPositions, kResults>(block, std::make_integer_sequence<int, kPositions * kResults>());
  const int64_t tile_distance = block.steps * kTileWeights;
  const int8_t* weights = block.weights;
  const int8_t* ahead = block.ahead;
  for (int64_t step = 0; step < block.steps; ++step) {
    const int64_t offset = block.offsets[step];
    for (int64_t i = 0; i < block.ahead_step; i += kLine) __builtin_prefetch(ahead + i, 0, 2);
    ahead += block.ahead_step;
    if constexpr (kResults <= 2) {
      load_tile<kFirstWeightTile>(weights, kTileBytes);
      if constexpr (kResults == 2)
        load_tile<kFirstWeightTile + 1>(weights + tile_distance, kTileBytes);
      [&]<int... kPosition>(std::integer_sequence<int, kPosition...>) {
        (multiply_positions<kResults, kPosition, kSigned>(
             block.positions[kPosition] + offset, block.position_bytes,
             std::make_integer_sequence<int, kResults>()),
         ...);
      }
      (std::make_integer_sequence<int, kPositions>());
    } else {
      load_tile<kFirstPositionTile>(block.positions[0] + offset, block.position_bytes);
      [&]<int... kResult>(std::integer_sequence<int, kResult...>) {
        (multiply_weights<kResult, kSigned>(weights + kResult * tile_distance), ...);
      }
      (std::make_integer_sequence<int, kResults>());
    }
    weights += kTileWeights;
  }
}

using Multiply = void (*)(const Block&);

/// Indexed by tiles of positions - 1 and tiles of results - 1; null: not enough tile registers.
template <bool kSigned>
constexpr std::array<std::array<Multiply, kSumTiles>, kSumTiles> kMultiply = {{
    {multiply<1, 1, kSigned>, multiply<1, 2, kSigned>, nullptr, multiply<1, 4, kSigned>},
    {multiply<2, 1, kSigned>, multiply<2, 2, kSigned>, nullptr, nullptr},
    {multiply<3, 1, kSigned>, nullptr, nullptr, nullptr},
    {multiply<4, 1, kSigned>, nullptr, nullptr, nullptr},
}};

/// Stores the first `count` tiles of sums.
void store_sums(Sums& sums, int64_t count) {
  constexpr int64_t kRowBytes = kTileChannels * static_cast<int64_t>(sizeof(int32_t));
  store_tile<0>(sums[0], kRowBytes);
  if (count > 1) store_tile<1>(sums[1], kRowBytes);
  if (count > 2) store_tile<2>(sums[2], kRowBytes);
  if (count > 3) store_tile<3>(sums[3], kRowBytes);
}

/// Stores kRows rows of bytes, which are consecutive in `bytes`.
template <int kRows>
GANTRY_VNNI inline void store_rows(__m512i bytes, uint8_t* const (&targets)[kRows],
                                   __mmask16 last) {
  if constexpr (kRows == 1) {
    const __mmask64 lanes = static_cast<uint64_t>(last) << 48 | 0xffffffffffffU;
    _mm512_mask_storeu_epi8(targets[0], lanes, bytes);
  } else if constexpr (kRows == 2) {
    const __mmask32 lanes = static_cast<uint32_t>(last) << 16 | 0xffffU;
    _mm256_mask_storeu_epi8(targets[0], lanes, _mm512_castsi512_si256(bytes));
    _mm256_mask_storeu_epi8(targets[1], lanes, _mm512_extracti64x4_epi64(bytes, 1));
  } else {
    _mm_mask_storeu_epi8(targets[0], last, _mm512_castsi512_si128(bytes));
    _mm_mask_storeu_epi8(targets[1], last, _mm512_extracti32x4_epi32(bytes, 1));
    _mm_mask_storeu_epi8(targets[2], last, _mm512_extracti32x4_epi32(bytes, 2));
    _mm_mask_storeu_epi8(targets[3], last, _mm512_extracti32x4_epi32(bytes, 3));
  }
}

using TileSums = int32_t[kTilePositions][kTileChannels];

/// Epilogues with specialised code.
enum class Recipe : uint8_t {
  kNone,      ///< no steps
  kResidual,  ///< a rounding, then a u8 addend
  kAny        ///< any steps
};

Recipe recipe_of(const std::vector<Int8EpilogueStep>& steps) {
  using Kind = Int8EpilogueStep::Kind;
  if (steps.empty()) return Recipe::kNone;
  const bool is_residual = steps.size() == 2 && steps[0].kind == Kind::kRound &&
                           steps[1].kind == Kind::kAdd && !steps[1].is_signed;
  return is_residual ? Recipe::kResidual : Recipe::kAny;
}

/// The sums of a tile of positions and some tiles of results, and where the results are stored.
struct Finish {
  const TileConvolution& c;
  const TileTensors& tensors;
  const TileSums* sums;
  const int32_t* rows;  // target index of each position, or kNowhere
  int64_t count;        // of positions
  int64_t channel;      // first target channel
};

/// Applies the epilogue and stores the results that are not dropped, four vectors at a time.
template <int kResults, Recipe kRecipe, bool kFloats>
GANTRY_VNNI void finish(const Finish& f) {
  constexpr int kVectors = 4;
  constexpr int kRows = kVectors / kResults;
  // Members are copied to locals: a store through uint8_t* may alias anything else.
  const TileConvolution& c = f.c;
  const TileSums* const sums = f.sums;
  const int32_t* const rows = f.rows;
  const int64_t count = f.count;
  const int64_t results = c.results;
  const bool is_signed = c.target_type == Int8Type::kS8;
  uint8_t* const target = f.tensors.target + f.channel * (kFloats ? kFloat : 1);
  const uint8_t* const addend = f.tensors.addend ? f.tensors.addend + f.channel : nullptr;
  const Int8EpilogueStep* const steps = c.steps.data();
  const size_t step_count = c.steps.size();
  const int64_t left = results - f.channel - (kResults - 1) * kTileChannels;
  const auto last = static_cast<__mmask16>(left >= kTileChannels ? 0xffff : (1U << left) - 1);
  __mmask16 lanes[kVectors];
  __m512 scales[kResults];
  __m512 bias[kResults];
  for (int v = 0; v < kResults; ++v) {
    scales[v] = _mm512_loadu_ps(c.scales + f.channel + v * kTileChannels);
    bias[v] = _mm512_loadu_ps(c.bias + f.channel + v * kTileChannels);
    for (int r = 0; r < kRows; ++r)
      lanes[r * kResults + v] = v + 1 < kResults ? static_cast<__mmask16>(0xffff) : last;
  }
  const int32_t zero_point = c.zero_point;
  alignas(kLine) std::array<uint8_t, kLine * sizeof(float)> sink{};  // for dropped positions
  for (int64_t first = 0; first < count; first += kRows) {
    __m512 x[kVectors];
    const uint8_t* addends[kVectors];
    uint8_t* targets[kRows];
    for (int r = 0; r < kRows; ++r) {
      // Entries after the last position belong to the next tile.
      const bool is_kept = first + r < count && rows[first + r] >= 0;
      const int64_t at = rows[first + r] * results;
      targets[r] = is_kept ? target + at * (kFloats ? kFloat : 1) : sink.data();
      const uint8_t* added = is_kept && addend ? addend + at : sink.data();
      for (int v = 0; v < kResults; ++v) {
        const __m512i sum = _mm512_load_si512(sums[v][first + r]);
        x[r * kResults + v] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scales[v], bias[v]);
        addends[r * kResults + v] = added + v * kTileChannels;
      }
    }
    if constexpr (kRecipe == Recipe::kResidual) {
      round(steps[0], x);
      add<false>(steps[1], x, addends, lanes);
    } else if constexpr (kRecipe == Recipe::kAny) {
      for (size_t i = 0; i < step_count; ++i) apply(steps[i], x, addends, lanes);
    }
    if constexpr (kFloats) {
      for (int i = 0; i < kVectors; ++i) {
        uint8_t* to = targets[i / kResults] + i % kResults * kTileChannels * kFloat;
        _mm512_mask_storeu_ps(to, lanes[i], x[i]);
      }
    } else {
      __m512i numbers[kVectors];
      for (int i = 0; i < kVectors; ++i) numbers[i] = integers_of(x[i]);
      store_rows(pack_bytes(numbers, zero_point, is_signed), targets, last);
    }
  }
}

using FinishPositions = void (*)(const Finish&);

template <int kResults>
FinishPositions finish_for(const TileConvolution& c) {
  if (c.target_type == Int8Type::kF32) return finish<kResults, Recipe::kAny, true>;
  switch (recipe_of(c.steps)) {
    case Recipe::kNone:
      return finish<kResults, Recipe::kNone, false>;
    case Recipe::kResidual:
      return finish<kResults, Recipe::kResidual, false>;
    case Recipe::kAny:
      break;
  }
  return finish<kResults, Recipe::kAny, false>;
}

/// The first tile that reads beyond the end of a source that is read in place.
int64_t first_beyond(const TileConvolution& c, const TileLayout& layout) {
  if (layout.is_copied) return layout.tiles;
  const int64_t read =
      (layout.tile_positions - 1) * layout.position_bytes + c.order.steps() * kTileBytes;
  const int64_t there = layout.positions * layout.position_bytes;
  const int64_t step = layout.tile_positions * layout.position_bytes;
  return there < read ? 0 : std::min((there - read) / step + 1, layout.tiles);
}

int64_t bytes_beyond(const TileConvolution& c, const TileLayout& layout) {
  const int64_t tiles = layout.tiles - first_beyond(c, layout);
  const int64_t bytes = tiles * layout.tile_positions * layout.position_bytes + kTileBytes;
  return (bytes + kLine - 1) / kLine * kLine;
}

/// How many tiles of positions and results a block has, and the order of blocks. Operands that are
/// read more than once should stay in the L1 cache.
struct Shape {
  int64_t positions = 2;
  int64_t results = 2;
  bool is_results_first = false;  // all positions for some results before the next results

  Shape() = default;
  Shape(const TileConvolution& c, const TileLayout& layout, const TileRange& range) {
    constexpr int64_t kNearBytes = 48 << 10;
    const int64_t tiles = range.last_positions - range.first_positions;
    is_results_first = has_more_weights(c, layout, range);
    if (tiles == 1 || kSumTiles * c.order.steps() * kTileWeights <= kNearBytes) {
      // The weights stay in the cache, and a block writes contiguous results of each position.
      positions = 1;
      results = kSumTiles;
      is_results_first = true;
    } else if (is_results_first && tiles <= kSumTiles && tiles != 2) {
      // A block has all positions, so that each weight is read once.
      positions = tiles;
      results = 1;
    }
  }
};

class Run {
 public:
  Run(const TileConvolution& c, const TileLayout& layout, const TileTensors& tensors,
      const TileRange& range, uint8_t* scratch)
      : c_(c),
        layout_(layout),
        tensors_(tensors),
        range_(range),
        finish_{finish_for<1>(c), finish_for<2>(c), nullptr, finish_for<4>(c)} {
    first_beyond_ = first_beyond(c, layout);
    if (range.last_positions <= first_beyond_) return;
    const int64_t begin = first_beyond_ * layout.tile_positions * layout.position_bytes;
    const int64_t there = layout.positions * layout.position_bytes - begin;
    std::memcpy(scratch, tensors.source + begin, static_cast<size_t>(there));
    std::memset(scratch + there, 0, static_cast<size_t>(bytes_beyond(c, layout) - there));
    beyond_ = scratch;
  }

  void run() {
    const Tiles tiles(layout_.tile_positions);
    const int64_t tile_bytes = layout_.tile_positions * layout_.position_bytes;
    const int64_t most = std::clamp<int64_t>(kChunkBytes / tile_bytes, kSumTiles, kChunkTiles);
    for (int64_t p = range_.first_positions; p < range_.last_positions; p += most) {
      chunk_ = range_;
      chunk_.first_positions = p;
      chunk_.last_positions = std::min(p + most, range_.last_positions);
      shape_ = Shape(c_, layout_, chunk_);
      find_rows();
      make_chunk();
      finish_pending();
    }
  }

 private:
  // A chunk is positions that are multiplied by all weights before the next ones. It fits the L2
  // cache.
  static constexpr int64_t kChunkBytes = 512 << 10;
  static constexpr int64_t kChunkTiles = 256;
  // Least steps of a block for its products to overlap with the epilogue of the block before.
  static constexpr int64_t kManySteps = 12;

  void make_chunk() {
    if (shape_.is_results_first) {
      for (int64_t r = chunk_.first_results; r < chunk_.last_results; r += results_at(r)) {
        for (int64_t p = chunk_.first_positions; p < chunk_.last_positions; p += shape_.positions)
          make(p, r);
      }
    } else {
      for (int64_t p = chunk_.first_positions; p < chunk_.last_positions; p += shape_.positions) {
        for (int64_t r = chunk_.first_results; r < chunk_.last_results; r += results_at(r))
          make(p, r);
      }
    }
  }

  /// Sets the target index of each position of the chunk.
  void find_rows() {
    const int64_t first = chunk_.first_positions * layout_.tile_positions;
    const int64_t end = std::min(chunk_.last_positions * layout_.tile_positions, layout_.positions);
    const int64_t tiles = chunk_.last_positions - chunk_.first_positions;
    std::fill_n(rows_.begin(), tiles * layout_.tile_positions + kSumTiles, kNowhere);
    for (int64_t line = first / layout_.line_positions; line * layout_.line_positions < end;
         ++line) {
      const int64_t y = line % layout_.image_lines;
      if (y >= c_.target[0]) continue;
      const int64_t row = (line / layout_.image_lines * c_.target[0] + y) * c_.target[1];
      const int64_t begin = line * layout_.line_positions;
      const int64_t last = std::min(c_.target[1], end - begin);
      for (int64_t x = std::max<int64_t>(first - begin, 0); x < last; ++x)
        rows_[static_cast<size_t>(begin + x - first)] = static_cast<int32_t>(row + x);
    }
  }

  void make(int64_t first_positions, int64_t first_results) {
    const int64_t positions = std::min(shape_.positions, chunk_.last_positions - first_positions);
    const int64_t results = results_at(first_results);
    Block block;
    for (int64_t i = 0; i < positions; ++i)
      block.positions[static_cast<size_t>(i)] = position(first_positions + i);
    block.position_bytes = layout_.position_bytes;
    block.offsets = layout_.offsets.data();
    block.steps = c_.order.steps();
    block.weights = c_.weights + first_results * block.steps * kTileWeights;
    block.starts = c_.starts + first_results * kTileChannels;
    look_ahead(block, first_positions, first_results, results);
    const auto& ways = c_.is_signed ? kMultiply<true> : kMultiply<false>;
    ways[static_cast<size_t>(positions) - 1][static_cast<size_t>(results) - 1](block);
    finish_pending();
    store_sums(sums_, positions * results);
    pending_ = {first_positions, first_positions + positions, first_results,
                first_results + results};
    if (block.steps < kManySteps) finish_pending();
  }

  /// Finishes the sums of the last block, after the products of the next one are issued, so that
  /// the CPU overlaps both.
  void finish_pending() {
    const int64_t results = pending_.last_results - pending_.first_results;
    if (results == 0) return;
    const FinishPositions finish_positions = finish_[static_cast<size_t>(results) - 1];
    const TileSums* sums = sums_;
    for (int64_t p = pending_.first_positions; p < pending_.last_positions; ++p, sums += results) {
      finish_positions({c_, tensors_, sums,
                        rows_.data() + (p - chunk_.first_positions) * layout_.tile_positions,
                        layout_.tile_positions, pending_.first_results * kTileChannels});
    }
    pending_ = {};
  }

  /// Tiles of results in a block: 4, 2 or 1.
  [[nodiscard]] int64_t results_at(int64_t first_results) const {
    const int64_t left = std::min(shape_.results, chunk_.last_results - first_results);
    return left == 3 ? 2 : left;
  }

  /// Sets which share of the next weights the block prefetches.
  void look_ahead(Block& block, int64_t first_positions, int64_t first_results,
                  int64_t results) const {
    const int64_t bytes = results * block.steps * kTileWeights;
    block.ahead = block.weights;
    block.ahead_step = 0;
    if (first_results + results >= chunk_.last_results) return;
    if (shape_.is_results_first) {
      // Each block of positions prefetches its share of the next panel.
      const int64_t tiles = chunk_.last_positions - chunk_.first_positions;
      const int64_t blocks = (tiles + shape_.positions - 1) / shape_.positions;
      const int64_t number = (first_positions - chunk_.first_positions) / shape_.positions;
      const int64_t share = (results * kTileWeights / kLine + blocks - 1) / blocks * kLine;
      if (number * share >= results * kTileWeights) return;
      block.ahead_step = share;
      block.ahead += bytes + number * share * block.steps;
    } else if (first_positions == chunk_.first_positions) {
      block.ahead_step = results * kTileWeights;
      block.ahead += bytes;
    }
  }

  [[nodiscard]] const uint8_t* position(int64_t tile) const {
    const int64_t step = layout_.tile_positions * layout_.position_bytes;
    if (tile >= first_beyond_) return beyond_ + (tile - first_beyond_) * step;
    return tensors_.source + tile * step;
  }

  const TileConvolution& c_;
  const TileLayout& layout_;
  const TileTensors& tensors_;
  const TileRange& range_;
  TileRange chunk_;    // of the range
  Shape shape_;        // for the chunk
  TileRange pending_;  // whose sums are not finished yet
  alignas(kLine) Sums sums_;
  int64_t first_beyond_ = 0;
  const uint8_t* beyond_ = nullptr;  // padded copy of the source from there on
  std::array<int32_t, kChunkTiles * kTilePositions + kSumTiles> rows_;  // of the chunk's positions
  std::array<FinishPositions, kSumTiles> finish_;  // by tiles of results less one
};

}  // namespace

bool has_tile_code() {
  constexpr auto kWanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_amx);
  static const bool has =
      (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kWanted) == kWanted;
  return has;
}

int64_t tile_scratch_of(const TileConvolution& c, const TileLayout& layout) {
  return bytes_beyond(c, layout);
}

void multiply_tiles(const TileConvolution& c, const TileLayout& layout, const TileTensors& tensors,
                    const TileRange& range, uint8_t* scratch) {
  Run(c, layout, tensors, range, scratch).run();
}

}  // namespace gantry::x86
