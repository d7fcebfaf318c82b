// SPDX-License-Identifier: Apache-2.0
#include "int8/amx_run.h"

#include <algorithm>

#include "onednn/plan.h"

namespace gantry::x86 {
namespace {

/// Division of the tiles of a convolution into a grid of parts; each runs on one thread.
struct Parts {
  int64_t of_positions = 1;
  int64_t of_results = 1;

  Parts(const TileConvolution& c, const TileLayout& layout, int64_t threads) {
    if (threads == 1) return;
    constexpr int64_t kResultsOfUnit = 4;  // a cache line
    constexpr int64_t kPositionsOfUnit = 2;
    constexpr int64_t kFinish = 10;           // cost of a tile's epilogue, in tile products
    constexpr int64_t kLeastProducts = 1500;  // of a part: some 10 us
    constexpr int64_t kPartsPerThread = 4;
    const int64_t products = layout.tiles * c.result_tiles() * (c.order.steps() + kFinish);
    const int64_t wanted = std::min(threads * kPartsPerThread, 1 + products / kLeastProducts);
    const int64_t positions = (layout.tiles + kPositionsOfUnit - 1) / kPositionsOfUnit;
    const int64_t results = (c.result_tiles() + kResultsOfUnit - 1) / kResultsOfUnit;
    // Threads divide the larger of weights and source, and share the other.
    if (has_more_weights(c, layout, {0, layout.tiles, 0, c.result_tiles()})) {
      of_results = std::min(wanted, results);
      of_positions = std::min(positions, (wanted + of_results - 1) / of_results);
    } else {
      of_positions = std::min(wanted, positions);
      of_results = std::min(results, (wanted + of_positions - 1) / of_positions);
    }
  }
  [[nodiscard]] int64_t count() const { return of_positions * of_results; }
  [[nodiscard]] TileRange range(const TileConvolution& c, const TileLayout& layout,
                                int64_t part) const {
    const int64_t position = part % of_positions;
    const int64_t result = part / of_positions;
    return {position * layout.tiles / of_positions, (position + 1) * layout.tiles / of_positions,
            result * c.result_tiles() / of_results, (result + 1) * c.result_tiles() / of_results};
  }
};

}  // namespace

void run_tiles(sdk::Call& call, const TileConvolution& c, const TileLayout& layout,
               TileTensors tensors) {
  constexpr int64_t kLeastBytes = 64 << 10;  // of the layout that a thread copies
  if (layout.is_copied) {
    auto* memory = call.scratch<uint8_t>(layout.size_bytes);
    const sdk::Span span = call.span("pad source");
    call.parallel_for(layout.lines(c), 1 + kLeastBytes / layout.line_bytes(),
                      [&](int64_t begin, int64_t end) {
                        lay_out(c, layout, tensors.source, memory, begin, end);
                      });
    tensors.source = memory;
  }
  const Parts parts(c, layout, call.thread_count());
  const int64_t scratch = tile_scratch_of(c, layout);
  auto* memory = call.scratch<uint8_t>(parts.count() * scratch);
  const sdk::Span span = call.span("tiles amx_int8");
  call.parallel_for(parts.count(), 1, [&](int64_t begin, int64_t end) {
    const FlushDenormals flush;
    for (int64_t part = begin; part < end; ++part)
      multiply_tiles(c, layout, tensors, parts.range(c, layout, part), memory + part * scratch);
  });
}

}  // namespace gantry::x86
