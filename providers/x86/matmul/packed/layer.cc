// SPDX-License-Identifier: Apache-2.0
#include "matmul/packed/layer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <unistd.h>
#include <utility>
#include <vector>

#include "onednn/threads.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kMostPanelsOfGroup = 8;
constexpr int64_t kMostRowsOfStretch = 224;
/// Fewer would have to wait for the matrix, which every stretch reads anew.
constexpr int64_t kLeastRowsOfStretch = 70;
constexpr int64_t kProductsPerTask = 1 << 18;
constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kBytesOfLine = 64;

int64_t bytes_of_cache() {
  static const int64_t bytes = std::max<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 256 << 10);
  return bytes;
}
/// Of the inner extent, multiplied before the next panel is: twice that of a panel stays cached.
int64_t most_inner() { return bytes_of_cache() / 16 / (kPanelColumns * kFloat); }

/// Of a stretch: what is multiplied of their rows at once stays cached beside the panels.
int64_t most_tiles(int64_t inner) {
  const int64_t row_bytes = std::min(inner, most_inner()) * kFloat;
  const int64_t rows =
      std::clamp(bytes_of_cache() * 3 / 8 / row_bytes, kLeastRowsOfStretch, kMostRowsOfStretch);
  return rows / matmul_code()->most_rows;
}

int64_t divided_up(int64_t x, int64_t by) { return (x + by - 1) / by; }

constexpr uint32_t kResult = 0;
constexpr uint32_t kAddend = 1;
constexpr uint32_t kFree = 2;

// False: the function has no code here.
bool append(const Activation& activation, std::vector<Instruction>& to) {
  using dnnl::algorithm;
  const auto& [function, alpha, beta] = activation;
  const auto add = [&, alpha = alpha, beta = beta](Operation operation) {
    to.push_back({operation, kResult, 0, kResult, alpha, beta});
    return true;
  };
  switch (function) {
    case algorithm::eltwise_relu:
      return add(alpha == 0 ? Operation::kRelu : Operation::kLeakyRelu);
    case algorithm::eltwise_clip:
      return add(Operation::kClip);
    case algorithm::eltwise_logistic:
      return add(Operation::kSigmoid);
    case algorithm::eltwise_tanh:
      return add(Operation::kTanh);
    case algorithm::eltwise_gelu_tanh:
      return add(Operation::kGelu);
    case algorithm::eltwise_gelu_erf:
      return add(Operation::kGeluErf);
    case algorithm::eltwise_hardsigmoid:
      return add(Operation::kHardSigmoid);
    case algorithm::eltwise_hardswish:
      return add(Operation::kHardSwish);
    case algorithm::eltwise_swish:
      if (alpha != 1) return false;
      to.push_back({Operation::kSigmoid, kResult, 0, kFree});
      to.push_back({Operation::kMul, kResult, kFree, kResult});
      return true;
    default:
      return false;
  }
}

bool adds_first(const Epilogue& epilogue) {
  return !epilogue.steps.empty() && epilogue.steps.front().addend != GANTRY_NONE;
}

}  // namespace

std::optional<std::vector<Instruction>> matmul_epilogue_of(const Epilogue& epilogue) {
  std::vector<Instruction> steps;
  for (size_t i = adds_first(epilogue) ? 1 : 0; i < epilogue.steps.size(); ++i) {
    const EpilogueStep& step = epilogue.steps[i];
    if (step.rounding) return std::nullopt;
    if (!step.activation) {
      steps.push_back({Operation::kAdd, kResult, kAddend, kResult});
    } else if (!append(*step.activation, steps)) {
      return std::nullopt;
    }
  }
  return steps;
}

std::optional<PackedMatMul::Bounds> PackedMatMul::bounds_of(const std::vector<Instruction>& steps) {
  if (steps.size() != 1) return std::nullopt;
  const Instruction& step = steps.front();
  if (step.operation == Operation::kRelu) return Bounds{0, std::numeric_limits<float>::infinity()};
  if (step.operation == Operation::kClip) return Bounds{step.alpha, step.beta};
  return std::nullopt;
}

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
  adds_first_ = adds_first(epilogue);
  steps_ = matmul_epilogue_of(epilogue).value();
  bounds_ = bounds_of(steps_);
  adds_later_ = std::any_of(steps_.begin(), steps_.end(), [](const Instruction& step) {
    return step.operation == Operation::kAdd && step.b == kAddend;
  });
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
    const bool is_cached = matrix_bytes <= bytes_of_cache() / 4 && tiles_ >= 2 * threads;
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
  static constexpr int64_t kMostColumns = kMostPanelsOfGroup * kPanelColumns;

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
        if (is_last && ends_group && !layer_.steps_.empty() && !layer_.bounds_)
          finish_panels(stretch, panel / panels_of_group_ * panels_of_group_, panel + 1);
      }
    }
  }

  void finish_panels(int64_t stretch, int64_t first_panel, int64_t last_panel) const {
    const int64_t first_column = first_panel * kPanelColumns;
    const int64_t count = std::min(last_panel * kPanelColumns, layer_.columns_) - first_column;
    for (int64_t row = first_row(first_tile(stretch)); row < first_row(last_tile(stretch)); ++row)
      finish(row * layer_.columns_ + first_column, count);
  }

  [[nodiscard]] const std::byte* numbers(int64_t panel, int64_t inner) const {
    return layer_.weights_.panel(panel * kPanelColumns, inner);
  }

  /// Room for the numbers of a panel: of the thread, until it asks again.
  static float* room_for(int64_t count) {
    struct alignas(kBytesOfLine) Line {  // a vector that lies across two takes twice as long
      float floats[kBytesOfLine / kFloat];
    };
    static thread_local std::vector<Line> lines;
    const auto wanted = static_cast<size_t>(divided_up(count * kFloat, kBytesOfLine));
    if (lines.size() < wanted) lines.resize(wanted);
    return lines.data()->floats;
  }

  /// `next`: what is multiplied after it, null: nothing that is known.
  void multiply_panel(int64_t stretch, int64_t index, const Part& part,
                      const std::byte* next) const {
    constexpr int64_t kBytesAhead = 2048;
    const int64_t column = index * kPanelColumns;
    const int64_t width = panel_width(layer_.columns_, column);
    const StorageDtype kind = layer_.weights_.numbers();
    // Of each index of the inner extent; of narrow numbers of half a panel not a whole one.
    const int64_t lines = width * bytes_of(kind) / kBytesOfLine;
    MatMulTile tile;
    const std::byte* panel = numbers(index, part.begin);
    tile.panel = panel;
    tile.numbers = kind;
    tile.inner = part.end - part.begin;
    tile.left_stride = layer_.inner_;
    tile.columns = std::min(width, layer_.columns_ - column);
    tile.stride = layer_.columns_;
    if (part.begin == 0 && !layer_.bias_.empty()) tile.bias = layer_.bias_.data() + column;
    if (layer_.bounds_ && part.end == layer_.inner_) {
      tile.is_bounded = true;
      tile.low = layer_.bounds_->low;
      tile.high = layer_.bounds_->high;
    }
    const int64_t tiles = last_tile(stretch) - first_tile(stretch);
    const bool is_alone = tiles == 1;
    if (!is_alone && kind != StorageDtype::kFloat) tile.widened = room_for(tile.inner * width);
    // Memory gives so many lines at once that tiles which asked for all of theirs would wait.
    if (!is_alone && lines > 0)
      tile.steps_ahead = static_cast<int>(std::max<int64_t>(1, tiles / lines));
    const int64_t share = divided_up(tile.inner, tile.steps_ahead) * kBytesOfLine;
    for (int64_t i = first_tile(stretch); i < last_tile(stretch); ++i) {
      const int64_t row = first_row(i);
      tile.rows = static_cast<int>(first_row(i + 1) - row);
      tile.left = tensors_.source + row * layer_.inner_ + part.begin;
      const int64_t place = row * layer_.columns_ + column;
      tile.target = tensors_.target + place;
      tile.initial = part.begin > 0       ? tile.target
                     : layer_.adds_first_ ? tensors_.addend + place
                                          : nullptr;
      const int64_t brought = (i - first_tile(stretch)) * share;
      tile.ahead = nullptr;
      if (is_alone && lines > 0) {  // panels stand one behind the other
        tile.ahead = reinterpret_cast<const char*>(panel) + kBytesAhead;
        tile.lines_ahead = static_cast<int>(lines);
      } else if (next && brought < lines * tile.inner * kBytesOfLine) {
        tile.ahead = reinterpret_cast<const char*>(next) + brought;
      }
      matmul_code()->multiply_tile(tile);
      if (!tile.widened) continue;
      tile.panel = std::exchange(tile.widened, nullptr);
      tile.numbers = StorageDtype::kFloat;
    }
  }

  /// The steps for `count` results of one row.
  void finish(int64_t place, int64_t count) const {
    float* target = tensors_.target + place;
    float* addend = layer_.adds_later_ ? const_cast<float*>(tensors_.addend) + place : nullptr;
    std::array<float, kMostColumns> free;
    if (count % kTileStep != 0) return finish_apart(target, addend, count);
    float* places[] = {target, addend, free.data()};
    run_instructions(layer_.steps_, places, count);
  }

  /// Where the code would write over what stands behind, and read behind the last addend.
  void finish_apart(float* target, const float* addend, int64_t count) const {
    std::array<std::array<float, kMostColumns>, 3> buffers{};
    std::copy_n(target, count, buffers[kResult].begin());
    if (addend) std::copy_n(addend, count, buffers[kAddend].begin());
    float* places[] = {buffers[kResult].data(), buffers[kAddend].data(), buffers[kFree].data()};
    run_instructions(layer_.steps_, places, count);
    std::copy_n(buffers[kResult].begin(), count, target);
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
  if (adds_later_ && addend == target) {  // which holds the products before the addend is read
    auto* kept = call.scratch<float>(rows * columns_);
    std::copy_n(addend, rows * columns_, kept);
    addend = kept;
  }
  Run(*this, rows, call.thread_count(), {source, addend, target}).multiply(call);
}

}  // namespace gantry::x86
