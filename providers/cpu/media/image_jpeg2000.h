// SPDX-License-Identifier: Apache-2.0
// Decodes JPEG 2000 with OpenJPEG. Any thread.
#pragma once

#include <cstdint>

#include "media/image.h"

namespace gantry::cpu {

/// Decodes gray, RGB and YCC images of any bit depth. `is_bare`: the data is a code stream without
/// a JP2 container. Returns an Image without pixels if the data cannot be decoded.
Image decode_jpeg2000(const uint8_t* data, int64_t size, bool is_bare, const TakePixels& take);

}  // namespace gantry::cpu
