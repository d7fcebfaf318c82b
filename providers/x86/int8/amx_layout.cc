// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "int8/amx.h"

namespace gantry::x86 {
namespace {

bool is_plain(const TileConvolution& c) {
  for (size_t i = 0; i < 2; ++i) {
    if (c.order.window[i] != 1 || c.strides[i] != 1 || c.pads[i] != 0 || c.source[i] != c.target[i])
      return false;
  }
  return true;
}

/// The columns of a line, of which only every taken_columns-th one is copied.
struct Columns {
  int64_t stride;  ///< of the columns that are copied
  int64_t used;    ///< of the source
  int64_t pitch;   ///< of a line

  Columns(const TileConvolution& c, int64_t taken) : stride(c.strides[1] / taken) {
    const int64_t reach = (c.target[1] - 1) * stride + (c.order.window[1] - 1) * c.dilations[1] + 1;
    const int64_t there = (c.source[1] + taken - 1) / taken;
    used = std::clamp<int64_t>(reach - c.pads[1], 0, there);
    // What a window reads behind the end of a line may be the padding before the next one.
    const int64_t behind = std::max<int64_t>(reach - c.pads[1] - used, 0);
    const int64_t wanted = std::max(used + std::max(c.pads[1], behind), c.target[1] * stride);
    pitch = (wanted + stride - 1) / stride * stride;
  }
};

}  // namespace

TileLayout::TileLayout(const TileConvolution& c) : is_copied(!is_plain(c)) {
  const TileOrder& order = c.order;
  if (is_copied) {
    // Between the columns that windows one column wide read, nothing is wanted.
    if (order.window[1] == 1 && c.pads[1] == 0) taken_columns = c.strides[1];
    const Columns columns(c, taken_columns);
    position_bytes = columns.stride * order.channels;
    line_positions = columns.pitch / columns.stride;
    image_lines = c.target[0] + (order.window[0] - 1) * c.dilations[0] / c.strides[0];
    for (int64_t i = 0; i < order.window[0]; ++i) {
      const int64_t phase = i * c.dilations[0] % c.strides[0];
      if (std::find(phases.begin(), phases.end(), phase) == phases.end()) phases.push_back(phase);
    }
  } else {
    position_bytes = order.channels;
    line_positions = c.target[1];
    image_lines = c.target[0];
    phases = {0};
  }
  for (int64_t stretch = 0; stretch < order.stretches(); ++stretch) {
    const int64_t per_line = order.stretches() / order.window[0];
    const int64_t line = stretch / per_line * c.dilations[0];
    const int64_t column = stretch % per_line * c.dilations[1];
    const int64_t phase =
        std::find(phases.begin(), phases.end(), line % c.strides[0]) - phases.begin();
    const int64_t first = (phase * c.images * image_lines + line / c.strides[0]) * line_bytes() +
                          column * order.channels;
    for (int64_t step = 0; step < order.steps_of_stretch(); ++step)
      offsets.push_back(first + step * kTileBytes);
  }
  positions = ((c.images - 1) * image_lines + c.target[0] - 1) * line_positions + c.target[1];
  tiles = (positions + kTilePositions - 1) / kTilePositions;
  tile_positions = (positions + tiles - 1) / tiles;
  if (!is_copied) return;
  const int64_t read = (tiles * tile_positions - 1) * position_bytes +
                       *std::max_element(offsets.begin(), offsets.end()) + kTileBytes;
  size_bytes = std::max(read, lines(c) * line_bytes() + c.pads[1] * order.channels);
}

bool has_more_weights(const TileConvolution& c, const TileLayout& layout, const TileRange& range) {
  const int64_t weights =
      (range.last_results - range.first_results) * c.order.steps() * kTileWeights;
  const int64_t source = (range.last_positions - range.first_positions) * layout.tile_positions *
                         layout.position_bytes;
  return weights > source;
}

void lay_out(const TileConvolution& c, const TileLayout& layout, const uint8_t* source,
             uint8_t* target, int64_t begin, int64_t end) {
  const int64_t channels = c.order.channels;
  const Columns columns(c, layout.taken_columns);
  const int64_t line_bytes = layout.line_bytes();
  const int64_t before = c.pads[1] * channels;
  const int64_t copied = columns.used * channels;
  const auto fill = [&](uint8_t* to, int64_t count) {
    if (count > 0) std::memset(to, c.padding, static_cast<size_t>(count));
  };
  for (int64_t i = begin; i < end; ++i) {
    uint8_t* to = target + i * line_bytes;
    const int64_t line = i % layout.image_lines;
    const int64_t image = i / layout.image_lines % c.images;
    const auto phase = static_cast<size_t>(i / layout.image_lines / c.images);
    const int64_t y = line * c.strides[0] + layout.phases[phase] - c.pads[0];
    if (y < 0 || y >= c.source[0]) {
      fill(to, line_bytes);
      continue;
    }
    const uint8_t* from = source + (image * c.source[0] + y) * c.source[1] * channels;
    fill(to, before);
    if (layout.taken_columns == 1) {
      std::memcpy(to + before, from, static_cast<size_t>(copied));
    } else {
      for (int64_t x = 0; x < columns.used; ++x) {
        std::memcpy(to + before + x * channels, from + x * layout.taken_columns * channels,
                    static_cast<size_t>(channels));
      }
    }
    fill(to + before + copied, line_bytes - before - copied);
  }
  const int64_t laid_out = layout.lines(c) * line_bytes;
  if (end == layout.lines(c)) fill(target + laid_out, layout.size_bytes - laid_out);
}

}  // namespace gantry::x86
