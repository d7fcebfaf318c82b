// SPDX-License-Identifier: Apache-2.0
// A decoded image in memory that the caller provides. A value type.
#pragma once

#include <cstdint>
#include <functional>

namespace gantry::cpu {

/// Pixels are dense, in rows from the top: [height, width, pixel_bytes]. The first three bytes of a
/// pixel are red, green and blue. `pixels` points to memory from TakePixels; null if the data could
/// not be decoded.
struct Image {
  int64_t height = 0;
  int64_t width = 0;
  int64_t pixel_bytes = 3;  ///< 4: ignore the fourth byte
  uint8_t* pixels = nullptr;
};

/// Callback that allocates height * width * pixel_bytes bytes, which must live as long as the
/// image. A small file may claim a size above any memory; decoders let the callback's exceptions
/// pass. The decoding libraries allocate up to 32 bytes more for each pixel.
using TakePixels = std::function<uint8_t*(int64_t height, int64_t width, int64_t pixel_bytes)>;

/// An image of that size with uninitialised pixels. Without pixels if an extent is below 1.
inline Image take_image(int64_t height, int64_t width, int64_t pixel_bytes,
                        const TakePixels& take) {
  if (height < 1 || width < 1) return {};
  return {height, width, pixel_bytes, take(height, width, pixel_bytes)};
}

}  // namespace gantry::cpu
