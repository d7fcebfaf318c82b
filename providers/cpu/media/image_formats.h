// SPDX-License-Identifier: Apache-2.0
// Encoded images to RGB: JPEG, PNG, WebP, TIFF, JPEG 2000, BMP and the portable formats (PBM, PGM,
// PPM), each by its own library but the last. The format is told from the first bytes. Any thread.
#pragma once

#include <cstdint>

#include "media/image.h"

namespace gantry::cpu {

/// The first picture in `data`; an alpha channel is left out.
Image decode_image(const uint8_t* data, int64_t size, const TakePixels& take);

}  // namespace gantry::cpu
