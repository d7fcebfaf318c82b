// SPDX-License-Identifier: Apache-2.0
// Images as inputs of a model: reads PNG and JPEG and resizes them to the input's shape.
#pragma once

#include <gantry/session.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gantry::cli {

/// element = (pixel * scale - mean) / deviation, with pixels from 0 to 255. For uint8 inputs pixels
/// are not changed.
struct ImageOptions {
  double scale = 1.0 / 255;
  std::vector<double> mean = {0};       ///< one value, or one for each channel
  std::vector<double> deviation = {1};  ///< the same
  std::string order = "rgb";            ///< of the channels: rgb or bgr
};

/// Pixels of 8 bits: [height, width, channels], in RGB order.
struct Picture {
  size_t width = 0;
  size_t height = 0;
  size_t channels = 0;  ///< 1 or 3
  std::vector<uint8_t> pixels;
};

/// Reads a PNG or JPEG file, detected by its contents; converts it to grey for one channel, to RGB
/// for three. Transparent pixels become white. Throws NOT_FOUND if there is no such file,
/// INVALID_ARGUMENT for another format or damaged data.
Picture read_image(const std::filesystem::path& file, size_t channels);

/// Bilinear interpolation with half-pixel centres.
Picture resize(const Picture& picture, size_t width, size_t height);

/// The image as a tensor for input `info`: [N, C, H, W] or [N, H, W, C], with one or three
/// channels. Unknown extents in `shape` (negative): N becomes 1; an unknown height or width keeps
/// the aspect ratio; if both are unknown, the image keeps its size. Throws INVALID_ARGUMENT if the
/// input is not such a tensor of float32 or uint8, or if the options do not fit its channels.
Tensor image_tensor(const std::filesystem::path& file, const ValueInfo& info,
                    const std::vector<int64_t>& shape, const ImageOptions& options);

}  // namespace gantry::cli
