// SPDX-License-Identifier: Apache-2.0
#include "conv/direct/channel_weights.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "conv/direct/code.h"
#include "onednn/digest.h"
#include "onednn/packed_share.h"

namespace gantry::x86 {
namespace {

void fill(const ChannelWeights::Plain& plain, bool channels_innermost, float* target) {
  const auto [groups, columns, inner, numbers, scales] = plain;
  const int64_t blocks = blocks_of(columns);
  const int64_t block_step = channels_innermost ? kChannelBlock : inner * kChannelBlock;
  const int64_t inner_step = channels_innermost ? blocks * kChannelBlock : kChannelBlock;
  std::fill_n(target, groups * blocks * inner * kChannelBlock, 0.0F);
  for (int64_t group = 0; group < groups; ++group) {
    float* to = target + group * blocks * inner * kChannelBlock;
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t row = group * columns + column;
      const float scale = scales.empty() ? 1 : scales[static_cast<size_t>(row)];
      float* at = to + column / kChannelBlock * block_step + column % kChannelBlock;
      for (int64_t k = 0; k < inner; ++k) {
        float number = 0;
        std::memcpy(&number, static_cast<const float*>(numbers) + row * inner + k, sizeof(number));
        at[k * inner_step] = number * scale;
      }
    }
  }
}

}  // namespace

void ChannelWeights::pack(const gantry_host* host, const Plain& plain, bool channels_innermost) {
  const std::string form = "direct/" + std::to_string(plain.groups) + "/" +
                           std::to_string(plain.columns) + "/" + std::to_string(plain.inner) +
                           (channels_innermost ? "/innermost" : "");
  const auto count = static_cast<uint64_t>(plain.groups * plain.columns * plain.inner);
  const Digest numbers = digest_of(plain.numbers, count * sizeof(float), form);
  const Digest content =
      digest_of(plain.scales.data(), plain.scales.size() * sizeof(float),
                {reinterpret_cast<const char*>(numbers.data()), sizeof(numbers)});
  const Digest kind = digest_of(form.data(), form.size(), "");
  const auto packed =
      static_cast<uint64_t>(plain.groups * blocks_of(plain.columns) * kChannelBlock * plain.inner);
  share_ = share_packed(host, {content, kind}, packed * sizeof(float), [&](void* target) {
    fill(plain, channels_innermost, static_cast<float*>(target));
  });
}

void ChannelWeights::set_bias(const std::vector<float>& bias, int64_t groups, int64_t columns) {
  const int64_t padded = blocks_of(columns) * kChannelBlock;
  bias_.assign(static_cast<size_t>(groups * padded), 0);
  for (int64_t group = 0; group < groups; ++group)
    std::copy_n(bias.begin() + group * columns, columns, bias_.begin() + group * padded);
}

}  // namespace gantry::x86
