// SPDX-License-Identifier: Apache-2.0
#include "int8/vnni_weights.h"

#include <algorithm>
#include <cstring>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <string>

#include "int8/vnni.h"
#include "onednn/digest.h"
#include "onednn/packed_share.h"

namespace gantry::x86 {
namespace {

using Plain = VnniWeights::Plain;

int64_t padded(int64_t results) {
  return (results + kVectorChannels - 1) / kVectorChannels * kVectorChannels;
}

/// Packs quad by quad, so that writes are contiguous. kTaps: compile-time number of taps; 0: of
/// `plain`.
template <int kTaps>
void fill_panel(const Plain& plain, int64_t panel, uint8_t* target) {
  const int64_t taps = kTaps > 0 ? kTaps : plain.taps;
  const int64_t first = panel * kPanelChannels;
  const int64_t count = std::min(kPanelChannels, plain.results - first);
  const int64_t width = padded(count);
  const int64_t quads = plain.channels / kByteQuad;
  // Adding an offset of 128 is flipping the highest bit.
  const uint32_t turned = plain.offset * uint32_t{0x01010101};
  const auto* numbers = static_cast<const uint8_t*>(plain.numbers) + first * plain.channels * taps;
  uint8_t* panel_target = target + first * plain.channels * taps;
  if (width > count)
    std::memset(panel_target, 0, static_cast<size_t>(width * plain.channels * taps));
  for (int64_t quad = 0; quad < quads; ++quad) {
    for (int64_t result = 0; result < count; ++result) {
      const uint8_t* from = numbers + (result * plain.channels + quad * kByteQuad) * taps;
      uint8_t* to = panel_target + (quad * width + result) * kByteQuad;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const uint32_t four =
            (uint32_t{from[tap]} | uint32_t{from[taps + tap]} << 8 |
             uint32_t{from[2 * taps + tap]} << 16 | uint32_t{from[3 * taps + tap]} << 24) ^
            turned;
        std::memcpy(to + tap * quads * width * kByteQuad, &four, sizeof(four));
      }
    }
  }
}

}  // namespace

void VnniWeights::pack(const gantry_host* host, sdk::Choices& choices, const Plain& plain) {
  const std::string form = "bytes/" + std::to_string(plain.results) + "/" +
                           std::to_string(plain.channels) + "/" + std::to_string(plain.taps) + "+" +
                           std::to_string(plain.offset);
  const auto count = static_cast<uint64_t>(plain.results * plain.channels * plain.taps);
  const Digest content =
      cached_digest(choices, "content", [&] { return digest_of(plain.numbers, count, form); });
  const auto size_bytes =
      static_cast<uint64_t>(padded(plain.results) * plain.channels * plain.taps);
  const Digest kind = digest_of(form.data(), form.size(), "");
  share_ = share_packed(host, {content, kind}, size_bytes, [&](void* target) {
    const int64_t panels = (plain.results + kPanelChannels - 1) / kPanelChannels;
    const auto fill = plain.taps == 1   ? fill_panel<1>
                      : plain.taps == 9 ? fill_panel<9>
                                        : fill_panel<0>;
    with_threads(oneapi::tbb::info::default_concurrency(), [&] {
      oneapi::tbb::parallel_for(int64_t{0}, panels, [&](int64_t panel) {
        fill(plain, panel, static_cast<uint8_t*>(target));
      });
    });
  });
}

}  // namespace gantry::x86
