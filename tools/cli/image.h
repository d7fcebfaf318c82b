// SPDX-License-Identifier: Apache-2.0
// Pictures as inputs of a model: PNG and JPEG, resized to what the model takes.
#pragma once

#include <gantry/session.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gantry::cli {

/// element = (pixel * scale - mean) / deviation, with pixels from 0 to 255. uint8 inputs take the
/// pixels as they are.
struct ImageOptions {
  double scale = 1.0 / 255;
  std::vector<double> mean = {0};       ///< one number, or one for each channel
  std::vector<double> deviation = {1};  ///< the same
  std::string order = "rgb";            ///< of the channels: rgb or bgr
};

/// Pixels of 8 bits, red first, row by row.
struct Picture {
  size_t width = 0;
  size_t height = 0;
  size_t channels = 0;  ///< 1 or 3
  std::vector<uint8_t> pixels;
};

/// Reads a PNG or JPEG file (its contents decide), in grey for one channel, in colour for three.
/// Transparent parts are white. NOT_FOUND: no such file. INVALID_ARGUMENT: another format, or
/// damaged.
Picture read_picture(const std::filesystem::path& file, size_t channels);

/// Bilinear, pixel centres at half coordinates.
Picture resize(const Picture& picture, size_t width, size_t height);

/// The picture as input `info` takes it: [N, C, H, W] or [N, H, W, C] with one or three channels.
/// Unknown extents in `shape` (negative): N is 1; a height or width is chosen so that the picture
/// keeps its proportions, or both its size. INVALID_ARGUMENT: the input is no such tensor of
/// float32 or uint8, or the options do not fit its channels.
Tensor picture_tensor(const std::filesystem::path& file, const ValueInfo& info,
                      const std::vector<int64_t>& shape, const ImageOptions& options);

}  // namespace gantry::cli
