// SPDX-License-Identifier: Apache-2.0
#include "winograd/weights.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <string>

#include "digest.h"
#include "packed_share.h"
#include "winograd/convolution.h"

namespace gantry::onednn::winograd {
namespace {

constexpr int kTaps = 9;
constexpr int kMostColumns = 32;
constexpr int kMostExtent = 6;

using Columns = std::array<float, kMostColumns>;  // one number for each filter of a panel

/// A line of three taps to the numbers of F(2, 3) and F(4, 3).
void transform_line(Tile tile, const Columns& first, const Columns& middle, const Columns& last,
                    Columns* target, int step) {
  if (tile == Tile::k2) {
    for (size_t i = 0; i < kMostColumns; ++i) {
      const float outer = 0.5F * (first[i] + last[i]);
      target[0][i] = first[i];
      target[1 * step][i] = outer + 0.5F * middle[i];
      target[2 * step][i] = outer - 0.5F * middle[i];
      target[3 * step][i] = last[i];
    }
    return;
  }
  constexpr double kA = kInner;
  constexpr double kB = kOuter;
  constexpr auto kZero = static_cast<float>(1 / (kA * kA * kB * kB));
  constexpr auto kOfA = static_cast<float>(1 / (2 * kA * kA * (kA * kA - kB * kB)));
  constexpr auto kOfB = static_cast<float>(1 / (2 * kB * kB * (kB * kB - kA * kA)));
  for (size_t i = 0; i < kMostColumns; ++i) {
    const float inner_even = first[i] + kInner * kInner * last[i];
    const float inner_odd = kInner * middle[i];
    const float outer_even = first[i] + kOuter * kOuter * last[i];
    const float outer_odd = kOuter * middle[i];
    target[0][i] = kZero * first[i];
    target[1 * step][i] = kOfA * (inner_even + inner_odd);
    target[2 * step][i] = kOfA * (inner_even - inner_odd);
    target[3 * step][i] = kOfB * (outer_even + outer_odd);
    target[4 * step][i] = kOfB * (outer_even - outer_odd);
    target[5 * step][i] = last[i];
  }
}

/// Channels that are transformed before they are stored: rows of filters and of positions lie as
/// far from each other as large powers of two, which caches do not like one by one.
constexpr int64_t kBlock = 16;

/// One panel of some channels.
struct Block {
  std::array<std::array<Columns, kTaps>, kBlock> taps;
  std::array<std::array<Columns, kBlock>, kMostPositions> transformed;
};

void gather(const PlainWeights& plain, int64_t first_filter, int64_t filters, int64_t channel,
            int64_t channels, Block& block) {
  constexpr auto kBytes = static_cast<int64_t>(kTaps * sizeof(float));
  block.taps = {};
  const auto* bytes = static_cast<const std::byte*>(plain.data);
  std::array<float, kBlock * kTaps> row{};
  for (int64_t i = 0; i < filters; ++i) {
    const int64_t filter = first_filter + i;
    std::memcpy(row.data(), bytes + (filter * plain.channels + channel) * kBytes,
                static_cast<size_t>(channels * kBytes));
    const float scale = plain.scales.empty() ? 1.0F : plain.scales[static_cast<size_t>(filter)];
    for (size_t j = 0; j < static_cast<size_t>(channels * kTaps); ++j)
      block.taps[j / kTaps][j % kTaps][static_cast<size_t>(i)] = row[j] * scale;
  }
}

void transform(Tile tile, Block& block) {
  const auto extent = static_cast<size_t>(extent_of(tile));
  std::array<Columns, 3 * kMostExtent> lines;       // [extent, 3]
  std::array<Columns, kMostPositions> transformed;  // [extent, extent]
  for (size_t channel = 0; channel < kBlock; ++channel) {
    const auto& taps = block.taps[channel];
    for (size_t column = 0; column < 3; ++column)
      transform_line(tile, taps[column], taps[3 + column], taps[6 + column], &lines[column], 3);
    for (size_t row = 0; row < extent; ++row) {
      const Columns* line = &lines[row * 3];
      transform_line(tile, line[0], line[1], line[2], &transformed[row * extent], 1);
    }
    for (size_t position = 0; position < extent * extent; ++position)
      block.transformed[position][channel] = transformed[position];
  }
}

void transform_panel(const PlainWeights& plain, Tile tile, int64_t panel, float* target) {
  const int64_t columns = code().columns;
  const int64_t first = panel * columns;
  const int64_t filters = std::min<int64_t>(columns, plain.filters - first);
  const int64_t whole = whole_vectors(plain.channels);
  const auto block = std::make_unique<Block>();
  for (int64_t channel = 0; channel < whole; channel += kBlock) {
    gather(plain, first, filters, channel, std::min(kBlock, plain.channels - channel), *block);
    transform(tile, *block);
    const int64_t count = std::min(kBlock, whole - channel);
    for (int position = 0; position < positions_of(tile); ++position) {
      float* to = target + (position * whole + channel) * columns;
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(
            to + i * columns,
            block->transformed[static_cast<size_t>(position)][static_cast<size_t>(i)].data(),
            static_cast<size_t>(columns) * sizeof(float));
      }
    }
  }
}

}  // namespace

int64_t transformed_bytes(int64_t filters, int64_t channels, Tile tile) {
  return panels_of(filters) * code().columns * whole_vectors(channels) * positions_of(tile) *
         int64_t{sizeof(float)};
}

void transform_weights(const PlainWeights& plain, Tile tile, float* target) {
  const int64_t size = code().columns * whole_vectors(plain.channels) * positions_of(tile);
  with_threads(oneapi::tbb::info::default_concurrency(), [&] {
    oneapi::tbb::parallel_for(int64_t{0}, panels_of(plain.filters), [&](int64_t panel) {
      transform_panel(plain, tile, panel, target + panel * size);
    });
  });
}

std::shared_ptr<const void> share_weights(const gantry_host* host, sdk::Choices& choices,
                                          const PlainWeights& plain, Tile tile) {
  const std::string form = "winograd/" + std::to_string(static_cast<int>(tile)) + "/" +
                           std::to_string(code().columns) + "/" + std::to_string(plain.filters) +
                           "/" + std::to_string(plain.channels);
  const auto size = static_cast<uint64_t>(plain.filters * plain.channels * kTaps) * sizeof(float);
  const Digest content = kept_digest(choices, form, [&] {
    const Digest numbers = digest_of(plain.data, size, form);
    return digest_of(plain.scales.data(), plain.scales.size() * sizeof(float),
                     {reinterpret_cast<const char*>(numbers.data()), sizeof(numbers)});
  });
  const auto bytes = static_cast<uint64_t>(transformed_bytes(plain.filters, plain.channels, tile));
  return share_packed(
      host, {content, digest_of(form.data(), form.size(), "")}, bytes,
      [&](void* target) { transform_weights(plain, tile, static_cast<float*>(target)); });
}

}  // namespace gantry::onednn::winograd
