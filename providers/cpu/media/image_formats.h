// SPDX-License-Identifier: Apache-2.0
// Decodes images to RGB: JPEG, PNG, WebP, TIFF, JPEG 2000, BMP and the portable formats (PBM, PGM,
// PPM). The format is detected from the first bytes. A library decodes each format but the portable
// ones. Any thread.
#pragma once

#include <cstdint>

#include "media/image.h"

namespace gantry::cpu {

/// Decodes the first image in `data`, of `size` bytes; alpha is ignored. Returns an Image without
/// pixels if the format is unknown or the data is broken.
Image decode_image(const uint8_t* data, int64_t size, const TakePixels& take);

}  // namespace gantry::cpu
