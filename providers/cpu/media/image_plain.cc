// SPDX-License-Identifier: Apache-2.0
#include "media/image_plain.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#include <stb/stb_image.h>

namespace gantry::cpu {

namespace {

bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Parser of PBM, PGM and PPM files.
class PortableReader {
 public:
  PortableReader(const uint8_t* data, int64_t size) : at_(data + 2), end_(data + size) {
    kind_ = data[1] - '0';
  }

  Image read(const TakePixels& take) {
    const int64_t width = number();
    const int64_t height = number();
    const int64_t greatest = is_bitmap() ? 1 : number();
    // A pixel takes at least one bit, which bounds the number of pixels.
    const int64_t most = (end_ - at_) * 8;
    if (width < 1 || height < 1 || greatest < 1 || greatest > 65535 || width > most / height)
      return {};
    if (kind_ > 3 && at_ < end_) ++at_;  // one white space before binary data
    const Image image = take_image(height, width, 3, take);
    const int channels = kind_ == 3 || kind_ == 6 ? 3 : 1;
    uint8_t* pixel = image.pixels;
    for (int64_t row = 0; row < height; ++row) {
      for (int64_t column = 0; column < width; ++column, pixel += 3) {
        for (int k = 0; k < channels; ++k) {
          const int64_t value = sample(column, width, greatest);
          if (value < 0 || value > greatest) return {};
          const int64_t light = is_bitmap() ? 1 - value : value;
          pixel[k] = static_cast<uint8_t>((light * 255 + greatest / 2) / greatest);
        }
        for (int k = channels; k < 3; ++k) pixel[k] = pixel[0];
      }
    }
    return image;
  }

 private:
  [[nodiscard]] bool is_bitmap() const { return kind_ == 1 || kind_ == 4; }

  void skip_space() {
    while (at_ < end_ && (is_space(*at_) || *at_ == '#')) {
      if (*at_ == '#') {
        while (at_ < end_ && *at_ != '\n') ++at_;
      } else {
        ++at_;
      }
    }
  }
  /// The next decimal number, or -1 if there is none.
  int64_t number() {
    skip_space();
    if (at_ == end_ || *at_ < '0' || *at_ > '9') return -1;
    int64_t value = 0;
    for (; at_ < end_ && *at_ >= '0' && *at_ <= '9' && value < INT32_MAX; ++at_)
      value = value * 10 + *at_ - '0';
    return value;
  }
  int64_t sample(int64_t column, int64_t width, int64_t greatest) {
    if (kind_ == 1) {
      skip_space();
      return at_ < end_ ? *at_++ - '0' : -1;
    }
    if (kind_ < 4) return number();
    if (kind_ == 4) {
      if (at_ >= end_) return -1;
      const int64_t bit = (*at_ >> (7 - column % 8)) & 1;
      // Rows start at a byte.
      if (column % 8 == 7 || column == width - 1) ++at_;
      return bit;
    }
    const int bytes = greatest > 255 ? 2 : 1;
    if (end_ - at_ < bytes) return -1;
    const int64_t value = bytes == 2 ? at_[0] * 256 + at_[1] : at_[0];
    at_ += bytes;
    return value;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  int kind_;
};

}  // namespace

Image decode_bmp(const uint8_t* data, int64_t size, const TakePixels& take) {
  int width = 0;
  int height = 0;
  int channels = 0;
  const auto bytes = static_cast<int>(std::min<int64_t>(size, INT_MAX));
  // stb_image allocates the image before it notices that the file is too short.
  if (bytes < size || !stbi_info_from_memory(data, bytes, &width, &height, &channels) ||
      width < 1 || height < 1 || width > size * 8 / height)
    return {};
  const Image image = take_image(height, width, 3, take);
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(data, bytes, &width, &height, &channels, 3), stbi_image_free);
  if (!pixels || image.height != height || image.width != width) return {};
  std::copy_n(pixels.get(), image.height * image.width * 3, image.pixels);
  return image;
}

Image decode_portable(const uint8_t* data, int64_t size, const TakePixels& take) {
  return PortableReader(data, size).read(take);
}

}  // namespace gantry::cpu
