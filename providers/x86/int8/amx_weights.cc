// SPDX-License-Identifier: Apache-2.0
#include "int8/amx_weights.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "onednn/digest.h"
#include "onednn/packed_share.h"
#include "onednn/threads.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kQuad = 4;  // bytes of a position that one lane multiplies

/// Packs a tile of results. Requires that `target` is zero.
void fill_results(const PlainTileWeights& plain, const TileOrder& order, int64_t tile,
                  uint8_t* target) {
  const int64_t first = tile * kTileChannels;
  const int64_t count = std::min(kTileChannels, plain.results - first);
  const auto* numbers = static_cast<const uint8_t*>(plain.numbers) + first * plain.result_step;
  for (int64_t stretch = 0; stretch < order.stretches(); ++stretch) {
    uint8_t* to = target + stretch * order.steps_of_stretch() * kTileWeights;
    for (int64_t i = 0; i < order.stretch_bytes(); ++i) {
      const int64_t tap = stretch * order.taps_of_stretch() + i / order.channels;
      const uint8_t* from =
          numbers + tap * plain.tap_step + i % order.channels * plain.channel_step;
      uint8_t* row = to + i / kQuad * kTileBytes + i % kQuad;
      for (int64_t r = 0; r < count; ++r)
        row[r * kQuad] = static_cast<uint8_t>(from[r * plain.result_step] + plain.offset);
    }
  }
}

}  // namespace

void TileWeights::pack(const gantry_host* host, sdk::Choices& choices,
                       const PlainTileWeights& plain, const TileOrder& order) {
  const int64_t tiles = (plain.results + kTileChannels - 1) / kTileChannels;
  const int64_t tile_bytes = order.steps() * kTileWeights;
  std::string form = "tiles";
  for (const int64_t number :
       {plain.results, plain.result_step, plain.channel_step, plain.tap_step, int64_t{plain.offset},
        order.channels, order.window[0], order.window[1], int64_t{order.is_dense}})
    form += "/" + std::to_string(number);
  const auto count =
      static_cast<uint64_t>(plain.results * order.channels * order.window[0] * order.window[1]);
  const Digest content =
      cached_digest(choices, "content", [&] { return digest_of(plain.numbers, count, form); });
  const Digest kind = digest_of(form.data(), form.size(), "");
  share_ = share_packed(host, {content, kind}, static_cast<uint64_t>(tiles * tile_bytes),
                        [&](void* memory) {
                          auto* target = static_cast<uint8_t*>(memory);
                          std::memset(target, 0, static_cast<size_t>(tiles * tile_bytes));
                          with_threads(machine_threads(), [&] {
                            for_each(tiles, [&](int64_t tile) {
                              fill_results(plain, order, tile, target + tile * tile_bytes);
                            });
                          });
                        });
}

}  // namespace gantry::x86
