// SPDX-License-Identifier: Apache-2.0
#include "media/image_formats.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <png.h>
#include <string_view>
#include <tiffio.h>
#include <turbojpeg.h>
#include <webp/decode.h>

#include "media/image_jpeg2000.h"
#include "media/image_plain.h"

namespace gantry::cpu {

namespace {

Image sized(int64_t height, int64_t width) {
  Image image;
  if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX) return image;
  image.height = height;
  image.width = width;
  image.pixels.resize(static_cast<size_t>(height) * static_cast<size_t>(width) * 3);
  return image;
}

Image decode_jpeg(const uint8_t* data, int64_t size) {
  const std::unique_ptr<void, int (*)(tjhandle)> handle(tjInitDecompress(), tjDestroy);
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int color = 0;
  const auto bytes = static_cast<unsigned long>(size);
  if (!handle ||
      tjDecompressHeader3(handle.get(), data, bytes, &width, &height, &subsampling, &color) != 0)
    return {};
  Image image = sized(height, width);
  if (tjDecompress2(handle.get(), data, bytes, image.pixels.data(), width, 0, height, TJPF_RGB,
                    0) != 0 &&
      tjGetErrorCode(handle.get()) == TJERR_FATAL)
    return {};
  return image;
}

Image decode_png(const uint8_t* data, int64_t size) {
  png_image header = {};
  header.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&header, data, static_cast<size_t>(size))) return {};
  const bool has_alpha = header.format & PNG_FORMAT_FLAG_ALPHA;
  header.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  Image image = sized(header.height, header.width);
  std::vector<uint8_t> with_alpha(has_alpha ? PNG_IMAGE_SIZE(header) : 0);
  uint8_t* target = has_alpha ? with_alpha.data() : image.pixels.data();
  if (!png_image_finish_read(&header, nullptr, target, 0, nullptr)) return {};
  for (size_t i = 0; i < with_alpha.size() / 4; ++i)
    std::memcpy(image.pixels.data() + 3 * i, with_alpha.data() + 4 * i, 3);
  return image;
}

Image decode_webp(const uint8_t* data, int64_t size) {
  int width = 0;
  int height = 0;
  const auto bytes = static_cast<size_t>(size);
  if (!WebPGetInfo(data, bytes, &width, &height)) return {};
  Image image = sized(height, width);
  if (!WebPDecodeRGBInto(data, bytes, image.pixels.data(), image.pixels.size(), width * 3))
    return {};
  return image;
}

/// A file in memory, as the TIFF library reads it.
struct MemoryFile {
  const uint8_t* data;
  tmsize_t size;
  tmsize_t at = 0;

  static tmsize_t read(thandle_t self, void* target, tmsize_t count) {
    auto* file = static_cast<MemoryFile*>(self);
    const tmsize_t left = std::clamp<tmsize_t>(file->size - file->at, 0, count);
    if (left > 0) std::memcpy(target, file->data + file->at, static_cast<size_t>(left));
    file->at += left;
    return left;
  }
  static tmsize_t write(thandle_t /*self*/, void* /*source*/, tmsize_t /*count*/) { return -1; }
  static toff_t seek(thandle_t self, toff_t offset, int whence) {
    auto* file = static_cast<MemoryFile*>(self);
    const tmsize_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file->at : file->size;
    const auto place = base + static_cast<tmsize_t>(offset);
    if (place < 0 || place > file->size) return static_cast<toff_t>(-1);
    file->at = place;
    return static_cast<toff_t>(place);
  }
  static int close(thandle_t /*self*/) { return 0; }
  static toff_t size_of(thandle_t self) {
    return static_cast<toff_t>(static_cast<MemoryFile*>(self)->size);
  }
};

/// Broken files are no news for the user's terminal.
int keep_quiet(TIFF* /*file*/, void* /*data*/, const char* /*module*/, const char* /*format*/,
               va_list /*arguments*/) {
  return 1;
}

Image decode_tiff(const uint8_t* data, int64_t size) {
  MemoryFile memory = {data, static_cast<tmsize_t>(size)};
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_quiet, nullptr);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), keep_quiet, nullptr);
  const std::unique_ptr<TIFF, void (*)(TIFF*)> file(
      TIFFClientOpenExt("image", "rm", &memory, MemoryFile::read, MemoryFile::write,
                        MemoryFile::seek, MemoryFile::close, MemoryFile::size_of, nullptr, nullptr,
                        options.get()),
      TIFFClose);
  uint32_t width = 0;
  uint32_t height = 0;
  if (!file || !TIFFGetField(file.get(), TIFFTAG_IMAGEWIDTH, &width) ||
      !TIFFGetField(file.get(), TIFFTAG_IMAGELENGTH, &height))
    return {};
  Image image = sized(height, width);
  std::vector<uint32_t> pixels(image.pixels.size() / 3);
  if (pixels.empty() ||
      !TIFFReadRGBAImageOriented(file.get(), width, height, pixels.data(), ORIENTATION_TOPLEFT, 1))
    return {};
  for (size_t i = 0; i < pixels.size(); ++i) {
    image.pixels[3 * i] = static_cast<uint8_t>(TIFFGetR(pixels[i]));
    image.pixels[3 * i + 1] = static_cast<uint8_t>(TIFFGetG(pixels[i]));
    image.pixels[3 * i + 2] = static_cast<uint8_t>(TIFFGetB(pixels[i]));
  }
  return image;
}

}  // namespace

Image decode_image(const uint8_t* data, int64_t size) {
  const std::string_view head(reinterpret_cast<const char*>(data),
                              static_cast<size_t>(std::min<int64_t>(size, 16)));
  const auto starts = [&](std::string_view mark) { return head.substr(0, mark.size()) == mark; };
  using namespace std::string_view_literals;
  if (starts("\xFF\xD8\xFF"sv)) return decode_jpeg(data, size);
  if (starts("\x89PNG"sv)) return decode_png(data, size);
  if (starts("RIFF"sv) && head.substr(8, 4) == "WEBP"sv) return decode_webp(data, size);
  if (starts("II*\0"sv) || starts("MM\0*"sv) || starts("II+\0"sv) || starts("MM\0+"sv))
    return decode_tiff(data, size);
  if (starts("\0\0\0\x0CjP  "sv)) return decode_jpeg2000(data, size, false);
  if (starts("\xFF\x4F\xFF\x51"sv)) return decode_jpeg2000(data, size, true);
  if (starts("BM"sv)) return decode_bmp(data, size);
  if (head.size() > 2 && head[0] == 'P' && head[1] >= '1' && head[1] <= '6')
    return decode_portable(data, size);
  return {};
}

}  // namespace gantry::cpu
