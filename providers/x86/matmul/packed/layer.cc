// SPDX-License-Identifier: Apache-2.0
#include "matmul/packed/layer.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "matmul/packed/panel_pass.h"
#include "onednn/threads.h"
#include "simd/blocking.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kMostPanelsOfGroup = TileEpilogue::kMostColumns / kPanelColumns;
constexpr int64_t kMostRowsOfStretch = 224;
/// Fewer would have to wait for the matrix, which every stretch reads anew.
constexpr int64_t kLeastRowsOfStretch = 70;
constexpr int64_t kProductsPerTask = 1 << 18;
constexpr int64_t kFloat = sizeof(float);

/// Of the inner extent, multiplied before the next panel is: twice that of a panel stays cached.
int64_t most_inner() { return second_cache_bytes() / 16 / (kPanelColumns * kFloat); }

/// Of a stretch: what is multiplied of their rows at once stays cached beside the panels.
int64_t most_tiles(int64_t inner) {
  const int64_t row_bytes = std::min(inner, most_inner()) * kFloat;
  const int64_t rows =
      std::clamp(second_cache_bytes() * 3 / 8 / row_bytes, kLeastRowsOfStretch, kMostRowsOfStretch);
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

/// A run's rows as tiles, its tiles as stretches, and the panels as groups. What a stretch makes
/// with a group stays in the second cache until its steps are done. A task has a stretch and all
/// groups where there are as many stretches as threads, or the matrix is cached for each of them,
/// so that a thread finds the rows that it made; else a stretch and one group, so that no two
/// threads wait for the same panels.
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
    stretches_ = divided_up(tiles_, most_tiles(layer.inner_));
    has_all_groups_ = stretches_ >= threads || is_cached;
    if (has_all_groups_) stretches_ = std::min(divided_up(stretches_, threads) * threads, tiles_);
    tiles_of_stretch_ = divided_up(tiles_, stretches_);
    stretches_ = divided_up(tiles_, tiles_of_stretch_);
    panels_ = divided_up(layer.columns_, kPanelColumns);
    panels_of_group_ =
        std::clamp<int64_t>(panels_ * stretches_ / (2 * threads), 1, kMostPanelsOfGroup);
    groups_ = divided_up(panels_, panels_of_group_);
  }

  void multiply(sdk::Call& call) const {
    const int64_t rows = std::min(rows_, tiles_of_stretch_ * matmul_code()->most_rows);
    const int64_t groups = has_all_groups_ ? groups_ : 1;  // of a task
    const int64_t products = rows * groups * panels_of_group_ * kPanelColumns * layer_.inner_;
    const int64_t tasks_of_stretch = groups_ / groups;
    call.parallel_for(stretches_ * tasks_of_stretch,
                      std::max<int64_t>(1, kProductsPerTask / products),
                      [&](int64_t begin, int64_t end) {
                        const FlushDenormals flush;
                        for (int64_t task = begin; task < end; ++task) {
                          const int64_t first = task % tasks_of_stretch * groups;
                          const bool has_next = task + 1 < end && first + groups < groups_;
                          run_groups(task / tasks_of_stretch, {first, first + groups}, has_next);
                        }
                      });
  }

 private:
  struct Groups {
    int64_t begin;
    int64_t end;
  };
  /// Of the inner extent, multiplied at once.
  struct Part {
    int64_t begin;
    int64_t end;
  };

  [[nodiscard]] int64_t first_row(int64_t tile) const { return tile * rows_ / tiles_; }
  [[nodiscard]] int64_t first_tile(int64_t stretch) const { return stretch * tiles_of_stretch_; }
  [[nodiscard]] int64_t last_tile(int64_t stretch) const {
    return std::min(first_tile(stretch) + tiles_of_stretch_, tiles_);
  }

  void run_groups(int64_t stretch, const Groups& groups, bool has_next) const {
    const int64_t first_panel = groups.begin * panels_of_group_;
    const int64_t last_panel = std::min(groups.end * panels_of_group_, panels_);
    for (int64_t k = 0; k < layer_.inner_; k += most_inner()) {
      const Part part{k, std::min(k + most_inner(), layer_.inner_)};
      const bool is_last = part.end == layer_.inner_;
      for (int64_t panel = first_panel; panel < last_panel; ++panel) {
        const std::byte* next = nullptr;
        if (panel + 1 < last_panel) {
          next = numbers(panel + 1, k);
        } else if (!is_last) {
          next = numbers(first_panel, part.end);
        } else if (has_next) {
          next = numbers(last_panel, 0);
        }
        multiply_panel(stretch, panel, part, next);
        const bool ends_group = panel + 1 == last_panel || (panel + 1) % panels_of_group_ == 0;
        if (is_last && ends_group && layer_.epilogue_.is_finished_later())
          finish_panels(stretch, panel / panels_of_group_ * panels_of_group_, panel + 1);
      }
    }
  }

  void finish_panels(int64_t stretch, int64_t first_panel, int64_t last_panel) const {
    const int64_t first_column = first_panel * kPanelColumns;
    const int64_t count = std::min(last_panel * kPanelColumns, layer_.columns_) - first_column;
    for (int64_t row = first_row(first_tile(stretch)); row < first_row(last_tile(stretch)); ++row) {
      const int64_t place = row * layer_.columns_ + first_column;
      const float* addend = tensors_.addend ? tensors_.addend + place : nullptr;
      layer_.epilogue_.finish(tensors_.target + place, addend, count);
    }
  }

  [[nodiscard]] const std::byte* numbers(int64_t panel, int64_t inner) const {
    return layer_.weights_.panel(panel * kPanelColumns, inner);
  }

  /// `next`: what is multiplied after it, null: nothing that is known.
  void multiply_panel(int64_t stretch, int64_t index, const Part& part,
                      const std::byte* next) const {
    const int64_t column = index * kPanelColumns;
    const int64_t width = panel_width(layer_.columns_, column);
    const TileEpilogue& epilogue = layer_.epilogue_;
    PanelPass pass({numbers(index, part.begin), layer_.weights_.numbers(), part.end - part.begin,
                    width, std::min(width, layer_.columns_ - column), next},
                   {layer_.inner_, layer_.columns_, last_tile(stretch) - first_tile(stretch)});
    if (part.begin == 0 && !layer_.bias_.empty()) pass.add_bias(layer_.bias_.data() + column);
    if (part.end == layer_.inner_ && epilogue.bounds()) pass.keep(*epilogue.bounds());
    for (int64_t i = first_tile(stretch); i < last_tile(stretch); ++i) {
      const int64_t row = first_row(i);
      const int64_t place = row * layer_.columns_ + column;
      float* target = tensors_.target + place;
      const float* initial = part.begin > 0          ? target
                             : epilogue.adds_first() ? tensors_.addend + place
                                                     : nullptr;
      pass.multiply(first_row(i + 1) - row, tensors_.source + row * layer_.inner_ + part.begin,
                    initial, target);
    }
  }

  const PackedMatMul& layer_;
  Tensors tensors_;
  int64_t rows_;
  int64_t tiles_;
  int64_t stretches_ = 0;
  bool has_all_groups_ = false;  ///< a task
  int64_t tiles_of_stretch_ = 0;
  int64_t panels_ = 0;
  int64_t panels_of_group_ = 0;
  int64_t groups_ = 0;
};

void PackedMatMul::run(sdk::Call& call, int64_t rows, const float* source, const float* addend,
                       float* target) const {
  addend = epilogue_.kept_addend(call, addend, target, rows * columns_);
  Run(*this, rows, call.thread_count(), {source, addend, target}).multiply(call);
}

}  // namespace gantry::x86
