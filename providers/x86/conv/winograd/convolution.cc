// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/convolution.h"

#include <algorithm>
#include <array>
#include <utility>

#include "conv/winograd/direct_tile.h"
#include "onednn/threads.h"
#include "simd/blocking.h"

namespace gantry::x86::winograd {
namespace {

// Tiles of a group: with fewer than the first, reading the weights dominates; with more than the
// second nothing is gained.
constexpr int64_t kFewTiles = 16;
constexpr int64_t kManyTiles = 28;
constexpr int64_t kLineBytes = 64;
constexpr double kLeastWorkOfThread = 4e5;  // multiply-adds that justify another thread: some 5 us

/// Rounds up to an odd number of cache lines, so that elements stored at this stride fall into
/// different cache sets.
int64_t apart(int64_t elements) {
  constexpr int64_t kLine = 16;
  return divided_up(elements, 2 * kLine) * 2 * kLine + kLine;
}

/// Calls body(i, thread) for i in [0, count); `thread` is the index of the calling thread.
template <class Body>
void for_each_on(int threads, int64_t count, const Body& body) {
  if (threads > 1 && count > 1) {
    for_each(count, [&](int64_t i) { body(i, thread_number()); });
  } else {
    for (int64_t i = 0; i < count; ++i) body(i, 0);
  }
}

}  // namespace

/// Tiles [first, first + count) and their transformed input.
struct Convolution::Group {
  int64_t first = 0;
  int64_t count = 0;
  float* input = nullptr;
  bool* is_ordinary = nullptr;  ///< [count]; false: the tile needs direct convolution
};

/// Transformed weights of some channels of a panel, at one position.
struct Convolution::Factor {
  const float* panel = nullptr;  ///< [channels, columns]
  int64_t first = 0;             ///< channel
  int64_t channels = 0;
};

Convolution::Convolution(const Geometry& geometry, Tile tile, Form form, int threads,
                         std::vector<Step> steps)
    : code_(code()),
      geometry_(geometry),
      tile_(tile),
      form_(form),
      threads_(threads),
      steps_(std::move(steps)),
      zeros_(static_cast<size_t>(geometry.channels), 0.0F),
      tile_rows_(divided_up(geometry.out_height, static_cast<int64_t>(tile))),
      tile_columns_(divided_up(geometry.out_width, static_cast<int64_t>(tile))),
      tiles_(geometry.batch * tile_rows_ * tile_columns_),
      panels_(panels_of(geometry.filters)),
      channels_(whole_vectors(geometry.channels)) {
  divide();
}

void Convolution::divide() {
  const double work = static_cast<double>(tiles_ * positions_of(tile_)) *
                      static_cast<double>(geometry_.channels * geometry_.filters);
  threads_ =
      static_cast<int>(std::clamp(work / kLeastWorkOfThread, 1.0, static_cast<double>(threads_)));
  const int64_t room = cache_elements();
  if (form_ == Form::kTaps) {
    // As few equal parts of a panel as possible, each of which fits the cache.
    const int64_t least = positions_of(tile_) * weights_of(code_.lanes);
    const int64_t fitting = std::max<int64_t>(room / least, 1) * code_.lanes;
    channels_at_once_ = whole_vectors(divided_up(channels_, divided_up(channels_, fitting)));
  }
  const int64_t fitting = room / (input_of(1) + products_of(1));
  is_shared_ = form_ == Form::kTaps || fitting < std::min(kFewTiles, tiles_) ||
               tiles_ < kFewTiles * threads_;
  const int64_t tiles = is_shared_ ? kMostTiles : std::clamp<int64_t>(fitting, 1, kManyTiles);
  groups_ = divided_up(tiles_, tiles);
  if (!is_shared_) groups_ = divided_up(groups_, threads_) * threads_;
}

int64_t Convolution::position_of(int64_t tiles) const { return apart(tiles * channels_); }

int64_t Convolution::weights_of(int64_t channels) const { return apart(channels * code_.columns); }

int64_t Convolution::input_of(int64_t tiles) const {
  return positions_of(tile_) * position_of(tiles);
}

int64_t Convolution::products_of(int64_t tiles) const {
  return tiles * positions_of(tile_) * code_.columns;
}

int64_t Convolution::share_of(int64_t tiles) const {
  if (form_ == Form::kTransformed) return products_of(tiles);
  return products_of(tiles) + positions_of(tile_) * weights_of(channels_at_once_);
}

int64_t Convolution::marks_of(int64_t tiles) {
  constexpr int64_t kFloat = sizeof(float);
  return divided_up(tiles * int64_t{sizeof(bool)}, kLineBytes) * kLineBytes / kFloat;
}

int64_t Convolution::scratch_bytes() const {
  const int64_t tiles = divided_up(tiles_, groups_);
  const int64_t inputs = is_shared_ ? 1 : threads_;
  const int64_t elements =
      inputs * (marks_of(tiles) + input_of(tiles)) + threads_ * share_of(tiles);
  return elements * int64_t{sizeof(float)};
}

void Convolution::run(const Operands& operands, std::byte* scratch) const {
  if (is_shared_) {
    run_fused(operands, scratch);
  } else {
    run_staged(operands, scratch);
  }
}

/// Each core processes whole groups.
void Convolution::run_staged(const Operands& operands, std::byte* scratch) const {
  const int64_t most = divided_up(tiles_, groups_);
  const int64_t own = marks_of(most) + input_of(most) + share_of(most);
  for_each_on(threads_, groups_, [&](int64_t index, int thread) {
    auto* marks = reinterpret_cast<float*>(scratch) + thread * own;
    float* const input = marks + marks_of(most);
    const int64_t first = index * tiles_ / groups_;
    const Group group{first, (index + 1) * tiles_ / groups_ - first, input,
                      reinterpret_cast<bool*>(marks)};
    transform(operands, group, 0, group.count);
    for (int64_t panel = 0; panel < panels_; ++panel)
      multiply_panel(operands, group, panel, input + input_of(most));
  });
}

/// The cores share the input of a group and divide the panels.
void Convolution::run_fused(const Operands& operands, std::byte* scratch) const {
  constexpr int64_t kTilesAtOnce = 2;
  const int64_t most = divided_up(tiles_, groups_);
  float* const input = reinterpret_cast<float*>(scratch) + marks_of(most);
  for (int64_t index = 0; index < groups_; ++index) {
    const int64_t first = index * tiles_ / groups_;
    const Group group{first, (index + 1) * tiles_ / groups_ - first, input,
                      reinterpret_cast<bool*>(scratch)};
    for_each_on(threads_, divided_up(group.count, kTilesAtOnce), [&](int64_t i, int) {
      transform(operands, group, i * kTilesAtOnce, std::min((i + 1) * kTilesAtOnce, group.count));
    });
    for_each_on(threads_, panels_, [&](int64_t panel, int thread) {
      multiply_panel(operands, group, panel, input + input_of(most) + thread * share_of(most));
    });
  }
}

/// Tiles [first, last) of the group.
void Convolution::transform(const Operands& operands, const Group& group, int64_t first,
                            int64_t last) const {
  std::array<const float*, kMostPositions> pixels{};
  InputTile tile;
  tile.pixels = pixels.data();
  tile.channels = geometry_.channels;
  tile.block_stride = group.count * code_.lanes;
  tile.position_stride = position_of(group.count);
  for (int64_t i = first; i < last; ++i) {
    find_pixels(operands, group.first + i, pixels.data());
    tile.target = group.input + i * code_.lanes;
    group.is_ordinary[i] = code_.of(tile_).input(tile);
  }
}

/// Finds the channels of each pixel of a tile's input, [extent, extent].
void Convolution::find_pixels(const Operands& operands, int64_t number,
                              const float** pixels) const {
  const int extent = extent_of(tile_);
  const int step = static_cast<int>(tile_);
  const int64_t top = number / tile_columns_ % tile_rows_ * step - geometry_.pad_top;
  const int64_t left = number % tile_columns_ * step - geometry_.pad_left;
  const int64_t image = number / (tile_columns_ * tile_rows_);
  for (int64_t y = top; y < top + extent; ++y) {
    const bool is_row = y >= 0 && y < geometry_.height;
    const float* row =
        operands.source + (image * geometry_.height + y) * geometry_.width * geometry_.channels;
    for (int64_t x = left; x < left + extent; ++x) {
      const bool is_inside = is_row && x >= 0 && x < geometry_.width;
      *pixels++ = is_inside ? row + x * geometry_.channels : zeros_.data();
    }
  }
}

/// Multiplies the group's tiles by one factor, into `products`, [positions, tiles, columns].
/// Factors after the first one of a panel accumulate.
void Convolution::multiply(const Group& group, const Factor& factor, int position,
                           float* products) const {
  const int64_t chunks = divided_up(group.count, code_.most_rows);
  const float* tiles =
      group.input + position * position_of(group.count) + factor.first * group.count;
  PositionGemm gemm;
  gemm.panel = factor.panel;
  gemm.block_stride = group.count * code_.lanes;
  gemm.channels = factor.channels;
  gemm.adds = factor.first > 0;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t first = chunk * group.count / chunks;
    gemm.rows = static_cast<int>((chunk + 1) * group.count / chunks - first);
    gemm.tiles = tiles + first * code_.lanes;
    gemm.target = products + (position * group.count + first) * code_.columns;
    code_.multiply(gemm);
  }
}

/// Multiplies the group's tiles, which stay in the cache, by a panel of the weights, and stores the
/// results. `memory`: share_of(tiles) elements.
void Convolution::multiply_panel(const Operands& operands, const Group& group, int64_t panel,
                                 float* memory) const {
  if (form_ == Form::kTaps) {
    multiply_taps(operands, group, panel, memory);
  } else {
    const int64_t size = channels_ * code_.columns;
    for (int position = 0; position < positions_of(tile_); ++position) {
      const int64_t offset = panel * positions_of(tile_) + position;
      multiply(group, {operands.weights + offset * size, 0, channels_}, position, memory);
    }
  }
  finish(operands, group, panel, memory);
}

/// The same products for a panel of taps: transforms some channels at a time, into the memory after
/// the products, and multiplies by them.
void Convolution::multiply_taps(const Operands& operands, const Group& group, int64_t panel,
                                float* products) const {
  const int positions = positions_of(tile_);
  float* transformed = products + products_of(group.count);
  TapPanel taps;
  taps.target = transformed;
  taps.position_stride = weights_of(channels_at_once_);
  for (int64_t first = 0; first < channels_; first += channels_at_once_) {
    taps.channels = std::min(channels_at_once_, channels_ - first);
    taps.taps = operands.weights + (panel * channels_ + first) * kTaps * code_.columns;
    code_.of(tile_).weights(taps);
    for (int position = 0; position < positions; ++position) {
      multiply(group, {transformed + position * taps.position_stride, first, taps.channels},
               position, products);
    }
  }
}

/// Output transform of a panel's products, or direct convolution of tiles that need it.
void Convolution::finish(const Operands& operands, const Group& group, int64_t panel,
                         const float* products) const {
  const int step = static_cast<int>(tile_);
  const int64_t channel = panel * code_.columns;
  const int64_t size = (form_ == Form::kTaps ? kTaps : positions_of(tile_)) * channels_ *
                       code_.columns;  // of the panel
  const PanelOfWeights weights{operands.weights + panel * size, form_, tile_, channels_,
                               code_.columns};
  OutputTile tile;
  tile.column_stride = geometry_.filters;
  tile.row_stride = geometry_.out_width * geometry_.filters;
  tile.channels = std::min<int64_t>(code_.columns, geometry_.filters - channel);
  tile.bias = operands.bias + channel;
  tile.steps = steps_.data();
  tile.step_count = static_cast<int>(steps_.size());
  for (int64_t i = 0; i < group.count; ++i) {
    const int64_t number = group.first + i;
    const int64_t top = number / tile_columns_ % tile_rows_ * step;
    const int64_t left = number % tile_columns_ * step;
    const int64_t image = number / (tile_columns_ * tile_rows_);
    const int64_t offset =
        ((image * geometry_.out_height + top) * geometry_.out_width + left) * geometry_.filters +
        channel;
    tile.target = operands.target + offset;
    tile.addend = operands.addend ? operands.addend + offset : nullptr;
    tile.rows = static_cast<int>(std::min<int64_t>(step, geometry_.out_height - top));
    tile.columns = static_cast<int>(std::min<int64_t>(step, geometry_.out_width - left));
    if (group.is_ordinary[i]) {
      tile.products = products + i * code_.columns;
      tile.position_stride = group.count * code_.columns;
      code_.of(tile_).output(tile);
      continue;
    }
    std::array<const float*, kMostPositions> pixels{};
    std::array<float, static_cast<size_t>(kMostResults) * kMostColumns> sums{};
    find_pixels(operands, number, pixels.data());
    sum_directly(pixels.data(), geometry_.channels, weights, sums.data());
    tile.products = sums.data();
    tile.position_stride = code_.columns;
    code_.of(tile_).results(tile);
  }
}

}  // namespace gantry::x86::winograd
