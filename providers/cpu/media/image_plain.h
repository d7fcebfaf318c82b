// SPDX-License-Identifier: Apache-2.0
// The formats that hardly compress: BMP by stb_image; PBM, PGM and PPM, as text or binary. Any
// thread.
#pragma once

#include <cstdint>

#include "media/image.h"

namespace gantry::cpu {

Image decode_bmp(const uint8_t* data, int64_t size, const TakePixels& take);
Image decode_portable(const uint8_t* data, int64_t size, const TakePixels& take);

}  // namespace gantry::cpu
