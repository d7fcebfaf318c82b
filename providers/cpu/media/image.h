// SPDX-License-Identifier: Apache-2.0
// A decoded image, whose memory is its caller's. A value type.
#pragma once

#include <cstdint>
#include <functional>

namespace gantry::cpu {

/// Rows from the top, no gaps; of each pixel the first three bytes are red, green and blue. No
/// pixels: nothing could be decoded. The memory is that of TakePixels.
struct Image {
  int64_t height = 0;
  int64_t width = 0;
  int64_t pixel_bytes = 3;  ///< 4: the last one says nothing
  uint8_t* pixels = nullptr;
};

/// Memory for a picture of that size, which outlives it. A few bytes of a file can say that it is
/// larger than any memory: what it throws is thrown on. The libraries allocate up to 32 bytes for
/// each pixel beside it.
using TakePixels = std::function<uint8_t*(int64_t height, int64_t width, int64_t pixel_bytes)>;

/// A picture of that size whose pixels are not written. None: an extent is below 1.
inline Image take_image(int64_t height, int64_t width, int64_t pixel_bytes,
                        const TakePixels& take) {
  if (height < 1 || width < 1) return {};
  return {height, width, pixel_bytes, take(height, width, pixel_bytes)};
}

}  // namespace gantry::cpu
