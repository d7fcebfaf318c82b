// SPDX-License-Identifier: Apache-2.0
// JPEG 2000 by OpenJPEG. Any thread.
#pragma once

#include <cstdint>

#include "media/image.h"

namespace gantry::cpu {

/// `is_bare`: a code stream without the boxes of a file. Gray and RGB, also as YCC, of any depth.
Image decode_jpeg2000(const uint8_t* data, int64_t size, bool is_bare, const TakePixels& take);

}  // namespace gantry::cpu
