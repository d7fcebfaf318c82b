// SPDX-License-Identifier: Apache-2.0
// Decodes BMP (with stb_image), and PBM, PGM and PPM in text and binary form. Both return an Image
// without pixels if the data cannot be decoded. Any thread.
#pragma once

#include <cstdint>

#include "media/image.h"

namespace gantry::cpu {

Image decode_bmp(const uint8_t* data, int64_t size, const TakePixels& take);
Image decode_portable(const uint8_t* data, int64_t size, const TakePixels& take);

}  // namespace gantry::cpu
