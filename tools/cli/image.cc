// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <png.h>
#include <turbojpeg.h>

#include "output.h"

namespace gantry::cli {
namespace {

constexpr size_t kMaxPixels = size_t{1} << 28;  // more is an error, or an attempt to exhaust memory

std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file))
    throw Error(Code::kNotFound, "the picture cannot be opened");
  return {std::istreambuf_iterator<char>(stream), {}};
}

Picture make_picture(size_t width, size_t height, size_t channels) {
  if (width == 0 || height == 0 || width > kMaxPixels / height) {
    throw Error(Code::kInvalidArgument, "a picture of 1 to " + std::to_string(kMaxPixels) +
                                            " pixels is needed; found " + std::to_string(width) +
                                            " x " + std::to_string(height));
  }
  return {width, height, channels, std::vector<uint8_t>(width * height * channels)};
}

Picture read_png(const std::string& bytes, size_t channels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> guard(&image, png_image_free);
  if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size())) {
    throw Error(Code::kInvalidArgument, std::string("the PNG file is damaged: ") + image.message);
  }
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Picture picture = make_picture(image.width, image.height, channels);
  const png_color white = {255, 255, 255};
  if (!png_image_finish_read(&image, &white, picture.pixels.data(), 0, nullptr)) {
    throw Error(Code::kInvalidArgument, std::string("the PNG file is damaged: ") + image.message);
  }
  return picture;
}

Picture read_jpeg(const std::string& bytes, size_t channels) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  const auto fail = [&]() -> Error {
    return {Code::kInvalidArgument,
            std::string("the JPEG file is damaged: ") + tjGetErrorStr2(decoder.get())};
  };
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colours = 0;
  if (tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &subsampling,
                          &colours) != 0)
    throw fail();
  Picture picture = make_picture(static_cast<size_t>(width), static_cast<size_t>(height), channels);
  const int format = channels == 1 ? TJPF_GRAY : TJPF_RGB;
  if (tjDecompress2(decoder.get(), data, bytes.size(), picture.pixels.data(), width, 0, height,
                    format, TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING) != 0) {
    throw fail();
  }
  return picture;
}

/// Taps of one axis: the two source positions of a target position, and the weight of the second.
struct Sample {
  size_t first;
  size_t second;
  double weight;
};

std::vector<Sample> samples(size_t source, size_t target) {
  std::vector<Sample> result(target);
  const double ratio = static_cast<double>(source) / static_cast<double>(target);
  for (size_t i = 0; i < target; ++i) {
    const double at = std::clamp((static_cast<double>(i) + 0.5) * ratio - 0.5, 0.0,
                                 static_cast<double>(source - 1));
    const auto first = static_cast<size_t>(at);
    result[i] = {first, std::min(first + 1, source - 1), at - static_cast<double>(first)};
  }
  return result;
}

/// Positions of the image axes in a model's input.
struct Layout {
  size_t channel_axis;
  size_t height_axis;
  size_t channels;
};

Layout layout_of(const ValueInfo& info, const std::vector<int64_t>& shape) {
  const auto is_channels = [](int64_t extent) { return extent == 1 || extent == 3; };
  const bool fits = info.kind == Kind::kTensor && shape.size() == 4 &&
                    (shape[0] < 0 || shape[0] == 1) &&
                    (info.dtype == DType::kFloat || info.dtype == DType::kUint8);
  if (fits && is_channels(shape[1])) return {1, 2, static_cast<size_t>(shape[1])};
  if (fits && is_channels(shape[3])) return {3, 1, static_cast<size_t>(shape[3])};
  if (fits && shape[1] < 0) return {1, 2, 3};
  throw Error(Code::kInvalidArgument,
              "a picture needs an input of float32 or uint8 with the shape [1,C,H,W] or [1,H,W,C] "
              "and one or three channels; input \"" +
                  info.name + "\" is " + describe(info));
}

void choose_size(const Picture& picture, int64_t& height, int64_t& width) {
  const double proportion =
      static_cast<double>(picture.width) / static_cast<double>(picture.height);
  const auto rounded = [](double extent) { return std::max<int64_t>(1, std::llround(extent)); };
  if (height < 0 && width < 0) height = static_cast<int64_t>(picture.height);
  if (height < 0) height = rounded(static_cast<double>(width) / proportion);
  if (width < 0) width = rounded(static_cast<double>(height) * proportion);
}

double of_channel(const std::vector<double>& numbers, size_t channel, size_t channels,
                  const char* option) {
  if (numbers.size() == 1) return numbers[0];
  if (numbers.size() == channels) return numbers[channel];
  throw Error(Code::kInvalidArgument,
              std::string(option) + " takes one number or one for each of the " +
                  std::to_string(channels) + " channels; found " + std::to_string(numbers.size()));
}

}  // namespace

Picture read_image(const std::filesystem::path& file, size_t channels) {
  try {
    const std::string bytes = read_bytes(file);
    if (bytes.starts_with("\x89PNG")) return read_png(bytes, channels);
    if (bytes.starts_with("\xFF\xD8")) return read_jpeg(bytes, channels);
    throw Error(Code::kInvalidArgument,
                "a PNG or JPEG picture is needed; the contents are neither");
  } catch (const Error& error) {
    throw error.in(file.string());
  }
}

Picture resize(const Picture& picture, size_t width, size_t height) {
  if (width == picture.width && height == picture.height) return picture;
  Picture result = make_picture(width, height, picture.channels);
  const std::vector<Sample> columns = samples(picture.width, width);
  const std::vector<Sample> rows = samples(picture.height, height);
  const auto pixel = [&](size_t row, size_t column, size_t channel) {
    return static_cast<double>(
        picture.pixels[(row * picture.width + column) * picture.channels + channel]);
  };
  uint8_t* target = result.pixels.data();
  for (const Sample& row : rows) {
    for (const Sample& column : columns) {
      for (size_t c = 0; c < picture.channels; ++c) {
        const double above = std::lerp(pixel(row.first, column.first, c),
                                       pixel(row.first, column.second, c), column.weight);
        const double below = std::lerp(pixel(row.second, column.first, c),
                                       pixel(row.second, column.second, c), column.weight);
        *target++ = static_cast<uint8_t>(std::lround(std::lerp(above, below, row.weight)));
      }
    }
  }
  return result;
}

Tensor image_tensor(const std::filesystem::path& file, const ValueInfo& info,
                    const std::vector<int64_t>& shape, const ImageOptions& options) {
  const Layout layout = layout_of(info, shape);
  std::vector<int64_t> extents = shape;
  extents[0] = 1;
  extents[layout.channel_axis] = static_cast<int64_t>(layout.channels);
  int64_t& height = extents[layout.height_axis];
  int64_t& width = extents[layout.height_axis + 1];
  const Picture original = read_image(file, layout.channels);
  choose_size(original, height, width);
  const Picture picture = resize(original, static_cast<size_t>(width), static_cast<size_t>(height));

  Tensor tensor(info.dtype, extents);
  const size_t pixels = picture.width * picture.height;
  for (size_t c = 0; c < layout.channels; ++c) {
    const size_t source = options.order == "bgr" ? layout.channels - 1 - c : c;
    const double mean = of_channel(options.mean, c, layout.channels, "--image-mean");
    const double deviation = of_channel(options.deviation, c, layout.channels, "--image-std");
    for (size_t i = 0; i < pixels; ++i) {
      const uint8_t pixel = picture.pixels[i * layout.channels + source];
      const size_t at = layout.channel_axis == 1 ? c * pixels + i : i * layout.channels + c;
      if (info.dtype == DType::kUint8) {
        tensor.elements<uint8_t>()[at] = pixel;
      } else {
        static_cast<float*>(tensor.data())[at] =
            static_cast<float>((pixel * options.scale - mean) / deviation);
      }
    }
  }
  return tensor;
}

}  // namespace gantry::cli
