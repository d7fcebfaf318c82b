// SPDX-License-Identifier: Apache-2.0
#include "winograd/convolution.h"

#include <algorithm>
#include <array>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <unistd.h>
#include <utility>

namespace gantry::onednn::winograd {
namespace {

// In a group: below the first, reading the weights takes longest; above the second nothing is won.
constexpr int64_t kFewTiles = 16;
constexpr int64_t kManyTiles = 28;
constexpr int64_t kMostTiles = 112;  // of all cores together
constexpr double kLeastWork = 4e5;   // multiplications that are worth another thread: some 5 us

int64_t divided_up(int64_t x, int64_t by) { return (x + by - 1) / by; }

/// Elements that may be in use at a time: part of the second cache of a core, which the weights
/// pass through as well.
int64_t cache_elements() {
  static const int64_t elements = [] {
    constexpr int64_t kUnknown = 1 << 20;
    const int64_t size_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return (size_bytes > 0 ? size_bytes : kUnknown) * 3 / 8 / int64_t{sizeof(float)};
  }();
  return elements;
}

/// body(i) for i in [0, count), on the threads of the arena.
template <class Body>
void for_each(int64_t count, bool in_parallel, const Body& body) {
  namespace tbb = oneapi::tbb;
  if (in_parallel && count > 1) {
    tbb::parallel_for(
        tbb::blocked_range<int64_t>(0, count, 1),
        [&](const tbb::blocked_range<int64_t>& range) {
          for (int64_t i = range.begin(); i < range.end(); ++i) body(i);
        },
        tbb::simple_partitioner());
  } else {
    for (int64_t i = 0; i < count; ++i) body(i);
  }
}

}  // namespace

int64_t panels_of(int64_t filters) { return divided_up(filters, code().columns); }

int64_t whole_vectors(int64_t channels) {
  return divided_up(channels, code().lanes) * code().lanes;
}

/// Tiles [first, first + count) and where their input stands, transformed.
struct Convolution::Group {
  int64_t first = 0;
  int64_t count = 0;
  float* input = nullptr;
};

Convolution::Convolution(const Geometry& geometry, Tile tile, int threads, std::vector<Step> steps)
    : code_(code()),
      geometry_(geometry),
      tile_(tile),
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
  threads_ = static_cast<int>(std::clamp(work / kLeastWork, 1.0, static_cast<double>(threads_)));
  const int64_t room = cache_elements();
  reads_ahead_ = panels_ * positions_of(tile_) * channels_ * code_.columns > room;
  const int64_t fitting = room / (input_of(1) + products_of(1));
  is_shared_ = fitting < std::min(kFewTiles, tiles_) || tiles_ < kFewTiles * threads_;
  const int64_t tiles = is_shared_ ? kMostTiles : std::clamp<int64_t>(fitting, 1, kManyTiles);
  groups_ = divided_up(tiles_, tiles);
  if (!is_shared_) {
    groups_ = divided_up(groups_, threads_) * threads_;
    return;
  }
  // Where the input does not stay near, it is to be read for many panels at a time.
  const int64_t products = products_of(divided_up(tiles_, groups_));
  const bool stays = input_of(divided_up(tiles_, groups_)) + products <= room;
  const int64_t most = stays ? 1 : room / products;
  panels_at_once_ = std::clamp<int64_t>(most, 1, divided_up(panels_, threads_));
}

int64_t Convolution::position_of(int64_t tiles) const {
  // An odd number of lines of the caches: what is stored together must not fall into the same ones.
  constexpr int64_t kLine = 16;
  return divided_up(tiles * channels_, 2 * kLine) * 2 * kLine + kLine;
}

int64_t Convolution::input_of(int64_t tiles) const {
  return positions_of(tile_) * position_of(tiles);
}

int64_t Convolution::products_of(int64_t tiles) const {
  return tiles * positions_of(tile_) * code_.columns;
}

int64_t Convolution::scratch_bytes() const {
  const int64_t tiles = divided_up(tiles_, groups_);
  const int64_t elements = is_shared_
                               ? input_of(tiles) + threads_ * panels_at_once_ * products_of(tiles)
                               : threads_ * (input_of(tiles) + products_of(tiles));
  return elements * int64_t{sizeof(float)};
}

void Convolution::run(const Operands& operands, std::byte* scratch) const {
  if (is_shared_) {
    run_together(operands, scratch);
  } else {
    run_apart(operands, scratch);
  }
}

/// Each core takes groups from their input to their results.
void Convolution::run_apart(const Operands& operands, std::byte* scratch) const {
  const int64_t most = divided_up(tiles_, groups_);
  const int64_t share = input_of(most) + products_of(most);
  for_each(groups_, threads_ > 1, [&](int64_t index) {
    const int thread = threads_ > 1 ? oneapi::tbb::this_task_arena::current_thread_index() : 0;
    auto* memory = reinterpret_cast<float*>(scratch) + thread * share;
    const int64_t first = index * tiles_ / groups_;
    const Group group{first, (index + 1) * tiles_ / groups_ - first, memory};
    transform(operands, group, 0, group.count);
    for (int64_t panel = 0; panel < panels_; ++panel)
      multiply(operands, group, panel, panel + 1, memory + input_of(most));
  });
}

/// The cores share the input of a group and divide the panels.
void Convolution::run_together(const Operands& operands, std::byte* scratch) const {
  constexpr int64_t kTilesAtOnce = 2;
  const int64_t most = divided_up(tiles_, groups_);
  auto* memory = reinterpret_cast<float*>(scratch);
  const int64_t share = panels_at_once_ * products_of(most);
  for (int64_t index = 0; index < groups_; ++index) {
    const int64_t first = index * tiles_ / groups_;
    const Group group{first, (index + 1) * tiles_ / groups_ - first, memory};
    for_each(divided_up(group.count, kTilesAtOnce), threads_ > 1, [&](int64_t i) {
      transform(operands, group, i * kTilesAtOnce, std::min((i + 1) * kTilesAtOnce, group.count));
    });
    for_each(divided_up(panels_, panels_at_once_), threads_ > 1, [&](int64_t i) {
      const int thread = threads_ > 1 ? oneapi::tbb::this_task_arena::current_thread_index() : 0;
      multiply(operands, group, i * panels_at_once_, std::min((i + 1) * panels_at_once_, panels_),
               memory + input_of(most) + thread * share);
    });
  }
}

/// Tiles [first, last) of the group.
void Convolution::transform(const Operands& operands, const Group& group, int64_t first,
                            int64_t last) const {
  const int extent = extent_of(tile_);
  const int step = static_cast<int>(tile_);
  std::array<const float*, kMostPositions> places{};
  InputTile tile;
  tile.places = places.data();
  tile.channels = geometry_.channels;
  tile.block_stride = group.count * code_.lanes;
  tile.position_stride = position_of(group.count);
  for (int64_t i = first; i < last; ++i) {
    const int64_t number = group.first + i;
    const int64_t top = number / tile_columns_ % tile_rows_ * step - geometry_.pad_top;
    const int64_t left = number % tile_columns_ * step - geometry_.pad_left;
    const int64_t image = number / (tile_columns_ * tile_rows_);
    size_t place = 0;
    for (int64_t y = top; y < top + extent; ++y) {
      const bool is_row = y >= 0 && y < geometry_.height;
      const float* row =
          operands.source + (image * geometry_.height + y) * geometry_.width * geometry_.channels;
      for (int64_t x = left; x < left + extent; ++x) {
        const bool is_inside = is_row && x >= 0 && x < geometry_.width;
        places[place++] = is_inside ? row + x * geometry_.channels : zeros_.data();
      }
    }
    tile.target = group.input + i * code_.lanes;
    code_.of(tile_).input(tile);
  }
}

/// Panels [first_panel, last_panel): at each position the group's tiles, which stay near, meet all
/// of them.
void Convolution::multiply(const Operands& operands, const Group& group, int64_t first_panel,
                           int64_t last_panel, float* products) const {
  const int64_t panel_size = channels_ * code_.columns;
  const int positions = positions_of(tile_);
  const int64_t chunks = divided_up(group.count, code_.most_rows);
  Product product;
  product.block_stride = group.count * code_.lanes;
  product.channels = channels_;
  for (int position = 0; position < positions; ++position) {
    const float* tiles = group.input + position * position_of(group.count);
    for (int64_t panel = first_panel; panel < last_panel; ++panel) {
      product.panel = operands.weights + (panel * positions + position) * panel_size;
      const bool is_last = panel + 1 == last_panel;
      const float* next = operands.weights + (is_last ? (first_panel * positions + position + 1)
                                                      : ((panel + 1) * positions + position)) *
                                                 panel_size;
      const int64_t place = (panel - first_panel) * positions + position;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const int64_t first = chunk * group.count / chunks;
        product.rows = static_cast<int>((chunk + 1) * group.count / chunks - first);
        product.tiles = tiles + first * code_.lanes;
        // Half of what comes next for each of the first two chunks.
        product.next = reads_ahead_ && chunk < 2 ? next + chunk * panel_size / 2 : nullptr;
        product.target = products + (place * group.count + first) * code_.columns;
        code_.multiply(product);
      }
    }
  }
  for (int64_t panel = first_panel; panel < last_panel; ++panel)
    finish(operands, group, panel, products + (panel - first_panel) * products_of(group.count));
}

/// The products of a panel to the output.
void Convolution::finish(const Operands& operands, const Group& group, int64_t panel,
                         const float* products) const {
  const int step = static_cast<int>(tile_);
  const int64_t channel = panel * code_.columns;
  OutputTile tile;
  tile.position_stride = group.count * code_.columns;
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
    const int64_t place =
        ((image * geometry_.out_height + top) * geometry_.out_width + left) * geometry_.filters +
        channel;
    tile.products = products + i * code_.columns;
    tile.target = operands.target + place;
    tile.addend = operands.addend ? operands.addend + place : nullptr;
    tile.rows = static_cast<int>(std::min<int64_t>(step, geometry_.out_height - top));
    tile.columns = static_cast<int>(std::min<int64_t>(step, geometry_.out_width - left));
    code_.of(tile_).output(tile);
  }
}

}  // namespace gantry::onednn::winograd
