// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/weights.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "onednn/digest.h"
#include "onednn/packed_share.h"

namespace gantry::x86::winograd {
namespace {

/// Channels that are read of one filter before the next filter.
constexpr int64_t kBlock = 16;
constexpr auto kTapBytes = static_cast<int64_t>(kTaps * sizeof(float));

/// Some channels of a panel, scaled: [channels, kTaps, columns].
void gather(const PlainWeights& plain, int64_t panel, int64_t channel, int64_t channels,
            float* target) {
  const int64_t columns = code().columns;
  const int64_t first = panel * columns;
  const int64_t filters = std::min<int64_t>(columns, plain.filters - first);
  const auto* bytes = static_cast<const std::byte*>(plain.data);
  std::array<float, kBlock * kTaps> row{};
  for (int64_t i = 0; i < filters; ++i) {
    const int64_t filter = first + i;
    std::memcpy(row.data(), bytes + (filter * plain.channels + channel) * kTapBytes,
                static_cast<size_t>(channels * kTapBytes));
    const float scale = plain.scales.empty() ? 1.0F : plain.scales[static_cast<size_t>(filter)];
    for (int64_t j = 0; j < channels * kTaps; ++j)
      target[j * columns + i] = row[static_cast<size_t>(j)] * scale;
  }
}

/// A panel of taps, [channels in whole vectors, kTaps, columns], zero beyond the last filter and
/// channel.
void gather_panel(const PlainWeights& plain, int64_t panel, float* target) {
  const int64_t size = kTaps * code().columns;
  std::fill_n(target, whole_vectors(plain.channels) * size, 0.0F);
  for (int64_t channel = 0; channel < plain.channels; channel += kBlock) {
    gather(plain, panel, channel, std::min(kBlock, plain.channels - channel),
           target + channel * size);
  }
}

void transform_panel(const PlainWeights& plain, Tile tile, int64_t panel, float* target) {
  const int64_t channels = whole_vectors(plain.channels);
  const int64_t columns = code().columns;
  std::vector<float> taps(static_cast<size_t>(channels * kTaps * columns));
  gather_panel(plain, panel, taps.data());
  code().of(tile).weights({taps.data(), channels, target, channels * columns});
}

void fill(const PlainWeights& plain, Tile tile, Form form, float* target) {
  const int64_t panels = panels_of(plain.filters);
  const int64_t size = weights_bytes(plain.filters, plain.channels, tile, form) /
                       static_cast<int64_t>(sizeof(float)) / panels;
  with_threads(machine_threads(), [&] {
    for_each(panels, [&](int64_t panel) {
      float* to = target + panel * size;
      if (form == Form::kTaps) {
        gather_panel(plain, panel, to);
      } else {
        transform_panel(plain, tile, panel, to);
      }
    });
  });
}

std::string name_of(Tile tile, Form form) {
  return form == Form::kTaps ? "taps" : std::to_string(static_cast<int>(tile));
}

}  // namespace

std::shared_ptr<const void> share_weights(const gantry_host* host, sdk::Choices& choices,
                                          const PlainWeights& plain, Tile tile, Form form) {
  const std::string order = "winograd/" + name_of(tile, form) + "/" +
                            std::to_string(code().columns) + "/" + std::to_string(plain.filters) +
                            "/" + std::to_string(plain.channels);
  const auto size = static_cast<uint64_t>(plain.filters * plain.channels * kTapBytes);
  const Digest content = cached_digest(choices, order, [&] {
    const Digest numbers = digest_of(plain.data, size, order);
    return digest_of(plain.scales.data(), plain.scales.size() * sizeof(float),
                     {reinterpret_cast<const char*>(numbers.data()), sizeof(numbers)});
  });
  const auto bytes =
      static_cast<uint64_t>(weights_bytes(plain.filters, plain.channels, tile, form));
  return share_packed(host, {content, digest_of(order.data(), order.size(), "")}, bytes,
                      [&](void* target) { fill(plain, tile, form, static_cast<float*>(target)); });
}

}  // namespace gantry::x86::winograd
