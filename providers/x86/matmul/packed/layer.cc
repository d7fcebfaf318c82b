// SPDX-License-Identifier: Apache-2.0
#include "matmul/packed/layer.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "matmul/packed/left_block.h"
#include "matmul/packed/panel_pass.h"
#include "onednn/threads.h"
#include "simd/blocking.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kMostPanelsOfGroup = TileEpilogue::kMostColumns / kPanelColumns;
constexpr int64_t kMostRowsOfBlock = 224;
/// Least rows of a row block. Each row block reads the whole matrix; with fewer rows that would
/// dominate.
constexpr int64_t kLeastRowsOfBlock = 70;
constexpr int64_t kMultipliesPerTask = 1 << 18;
constexpr int64_t kFloat = sizeof(float);

/// Most of the inner extent of a panel that is multiplied before the next panel: two such parts
/// stay in the cache.
int64_t most_inner() { return second_cache_bytes() / 16 / (kPanelColumns * kFloat); }

/// Most tiles of a row block: the part of their rows that is multiplied at once stays in the cache
/// beside the panels.
int64_t most_tiles(int64_t inner) {
  const int64_t row_bytes = std::min(inner, most_inner()) * kFloat;
  const int64_t rows =
      std::clamp(second_cache_bytes() * 3 / 8 / row_bytes, kLeastRowsOfBlock, kMostRowsOfBlock);
  return rows / matmul_code()->most_rows;
}

}  // namespace

bool PackedMatMul::takes(int64_t columns) {
  const int64_t half = kPanelColumns / 2;
  return matmul_code() && (columns + half - 1) / half * half * 2 <= columns * 3;
}

void PackedMatMul::pack(const gantry_host* host, sdk::Choices& choices,
                        const PanelWeights::Plain& plain, const std::vector<float>& bias,
                        const Epilogue& epilogue) {
  inner_ = plain.inner;
  columns_ = plain.columns;
  weights_.pack(host, choices, plain);
  if (std::any_of(bias.begin(), bias.end(), [](float x) { return x != 0; })) {
    bias_ = bias;
    bias_.resize((bias.size() + kPanelColumns - 1) / kPanelColumns * kPanelColumns);
  }
  epilogue_ = TileEpilogue(epilogue);
}

/// Tasks of a run. Rows are divided into tiles, and tiles into row blocks, whose rows stay in the
/// L2 cache. If there are as many row blocks as threads, or the matrix is cached for each of them,
/// a task is a row block with all panels, so that a core has the rows that it wrote in its cache.
/// Else tasks are tiles, panel by panel. A thread then gets a contiguous range of them: threads
/// have equal work, and two threads read the same panel only where their ranges meet.
class PackedMatMul::Run {
 public:
  struct Tensors {
    const float* source;
    const float* addend;
    float* target;
  };

  Run(const PackedMatMul& layer, int64_t rows, int threads, const Tensors& tensors)
      : layer_(layer),
        tensors_(tensors),
        rows_(rows),
        tiles_(divided_up(rows, matmul_code()->most_rows)) {
    const int64_t matrix_bytes = layer.inner_ * layer.columns_ * kFloat;
    const bool is_cached = matrix_bytes <= second_cache_bytes() / 4 && tiles_ >= 2 * threads;
    row_blocks_ = divided_up(tiles_, most_tiles(layer.inner_));
    has_all_panels_ = row_blocks_ >= threads || is_cached;
    if (has_all_panels_) row_blocks_ = std::min(divided_up(row_blocks_, threads) * threads, tiles_);
    tiles_of_row_block_ = divided_up(tiles_, row_blocks_);
    row_blocks_ = divided_up(tiles_, tiles_of_row_block_);
    panels_ = divided_up(layer.columns_, kPanelColumns);
    panels_of_group_ =
        std::clamp<int64_t>(panels_ * row_blocks_ / (2 * threads), 1, kMostPanelsOfGroup);
  }

  void multiply(sdk::Call& call) const {
    const int64_t tile = matmul_code()->most_rows * kPanelColumns * layer_.inner_;  // multiply-adds
    if (has_all_panels_) {
      const int64_t row_block = tiles_of_row_block_ * panels_ * tile;
      call.parallel_for(row_blocks_, std::max<int64_t>(1, kMultipliesPerTask / row_block),
                        [&](int64_t begin, int64_t end) {
                          const FlushDenormals flush;
                          for (int64_t i = begin; i < end; ++i)
                            run_block({tiles_of(i), {0, panels_}}, false);
                        });
      return;
    }
    call.parallel_for(row_blocks_ * panels_ * tiles_of_row_block_,
                      std::max<int64_t>(1, kMultipliesPerTask / tile),
                      [&](int64_t begin, int64_t end) {
                        const FlushDenormals flush;
                        run_tiles(begin, end);
                      });
  }

 private:
  struct Range {
    int64_t begin;
    int64_t end;
  };
  /// Some tiles of one row block and some panels.
  struct Block {
    Range tiles;
    Range panels;
  };
  /// A range of the inner extent that is multiplied at once.
  struct Part {
    int64_t begin;
    int64_t end;
  };

  [[nodiscard]] int64_t first_row(int64_t tile) const { return tile * rows_ / tiles_; }
  [[nodiscard]] Range tiles_of(int64_t row_block) const {
    const int64_t first = row_block * tiles_of_row_block_;
    return {first, std::min(first + tiles_of_row_block_, tiles_)};
  }

  /// Computes tiles [begin, end), numbered panel by panel within each row block. The last row block
  /// has as many numbers as the others.
  void run_tiles(int64_t begin, int64_t end) const {
    const int64_t count = panels_ * tiles_of_row_block_;  // of a row block
    while (begin < end) {
      const Range all = tiles_of(begin / count);
      const int64_t last = std::min(end, (begin / count + 1) * count);
      const int64_t panel = begin % count / tiles_of_row_block_;
      const int64_t tile = begin % tiles_of_row_block_;
      const int64_t whole_panels = tile == 0 ? (last - begin) / tiles_of_row_block_ : 0;
      const int64_t tiles = std::min(last - begin, tiles_of_row_block_ - tile);
      begin += whole_panels > 0 ? whole_panels * tiles_of_row_block_ : tiles;
      if (whole_panels > 0) {
        run_block({all, {panel, panel + whole_panels}}, begin < last);
      } else if (all.begin + tile < all.end) {
        const Range some{all.begin + tile, std::min(all.begin + tile + tiles, all.end)};
        run_block({some, {panel, panel + 1}}, begin < last);
      }
    }
  }

  void run_block(const Block& block, bool has_next) const {
    const auto [first_panel, last_panel] = block.panels;
    for (int64_t k = 0; k < layer_.inner_; k += most_inner()) {
      const Part part{k, std::min(k + most_inner(), layer_.inner_)};
      const bool is_last = part.end == layer_.inner_;
      const LeftBlock left = left_of(block.tiles, part);
      int64_t first_of_group = first_panel;
      for (int64_t panel = first_panel; panel < last_panel; ++panel) {
        const std::byte* next = nullptr;
        if (panel + 1 < last_panel) {
          next = weights_at(panel + 1, k);
        } else if (!is_last) {
          next = weights_at(first_panel, part.end);
        } else if (has_next) {
          next = weights_at(last_panel, 0);
        }
        multiply_panel(block.tiles, left, panel, part, next);
        const int64_t made = panel + 1 - first_of_group;
        if (!is_last || (made < panels_of_group_ && panel + 1 < last_panel)) continue;
        if (layer_.epilogue_.is_finished_later())
          finish_panels({block.tiles, {first_of_group, panel + 1}});
        first_of_group = panel + 1;
      }
    }
  }

  /// The part of the rows of some tiles.
  [[nodiscard]] LeftBlock left_of(const Range& tiles, const Part& part) const {
    const int64_t row = first_row(tiles.begin);
    return left_block({tensors_.source + row * layer_.inner_ + part.begin, layer_.inner_},
                      first_row(tiles.end) - row, part.end - part.begin, divided_up(rows_, tiles_));
  }

  /// Applies the epilogue to the block, whose results are in the L2 cache.
  void finish_panels(const Block& block) const {
    const int64_t first_column = block.panels.begin * kPanelColumns;
    const int64_t count =
        std::min(block.panels.end * kPanelColumns, layer_.columns_) - first_column;
    for (int64_t row = first_row(block.tiles.begin); row < first_row(block.tiles.end); ++row) {
      const int64_t offset = row * layer_.columns_ + first_column;
      const float* addend = tensors_.addend ? tensors_.addend + offset : nullptr;
      layer_.epilogue_.finish(tensors_.target + offset, addend, count);
    }
  }

  [[nodiscard]] const std::byte* weights_at(int64_t panel, int64_t inner) const {
    return layer_.weights_.panel(panel * kPanelColumns, inner);
  }

  /// `left`: of the tiles and the part; `next`: the memory to prefetch; null: none.
  void multiply_panel(const Range& tiles, const LeftBlock& left, int64_t index, const Part& part,
                      const std::byte* next) const {
    const int64_t column = index * kPanelColumns;
    const int64_t width = panel_width(layer_.columns_, column);
    const TileEpilogue& epilogue = layer_.epilogue_;
    PanelPass pass({weights_at(index, part.begin), layer_.weights_.dtype(), part.end - part.begin,
                    width, std::min(width, layer_.columns_ - column), next},
                   {left.stride, layer_.columns_, tiles.end - tiles.begin});
    if (part.begin == 0 && !layer_.bias_.empty()) pass.add_bias(layer_.bias_.data() + column);
    if (part.end == layer_.inner_ && epilogue.bounds()) pass.keep(*epilogue.bounds());
    for (int64_t i = tiles.begin; i < tiles.end; ++i) {
      const int64_t row = first_row(i);
      const int64_t offset = row * layer_.columns_ + column;
      float* target = tensors_.target + offset;
      const float* initial = part.begin > 0          ? target
                             : epilogue.adds_first() ? tensors_.addend + offset
                                                     : nullptr;
      const float* rows = left.data + (row - first_row(tiles.begin)) * left.stride;
      pass.multiply(first_row(i + 1) - row, rows, initial, target);
    }
  }

  const PackedMatMul& layer_;
  Tensors tensors_;
  int64_t rows_;
  int64_t tiles_;
  int64_t row_blocks_ = 0;
  bool has_all_panels_ = false;  ///< a task is a row block with all panels
  int64_t tiles_of_row_block_ = 0;
  int64_t panels_ = 0;
  int64_t panels_of_group_ = 0;
};

void PackedMatMul::run(sdk::Call& call, int64_t rows, const float* source, const float* addend,
                       float* target) const {
  addend = epilogue_.kept_addend(call, addend, target, rows * columns_);
  Run(*this, rows, call.thread_count(), {source, addend, target}).multiply(call);
}

}  // namespace gantry::x86
