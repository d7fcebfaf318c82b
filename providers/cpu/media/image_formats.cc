// SPDX-License-Identifier: Apache-2.0
#include "media/image_formats.h"

#include <algorithm>
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

Image decode_jpeg(const uint8_t* data, int64_t size, const TakePixels& take) {
  const std::unique_ptr<void, int (*)(tjhandle)> handle(tjInitDecompress(), tjDestroy);
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int color = 0;
  const auto bytes = static_cast<unsigned long>(size);
  if (!handle ||
      tjDecompressHeader3(handle.get(), data, bytes, &width, &height, &subsampling, &color) != 0)
    return {};
  const Image image = take_image(height, width, 3, take);
  if (tjDecompress2(handle.get(), data, bytes, image.pixels, width, 0, height, TJPF_RGB,
                    TJFLAG_LIMITSCANS) != 0 &&
      tjGetErrorCode(handle.get()) == TJERR_FATAL)
    return {};
  return image;
}

Image decode_png(const uint8_t* data, int64_t size, const TakePixels& take) {
  png_image header = {};
  header.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&header, data, static_cast<size_t>(size))) return {};
  const bool has_alpha = header.format & PNG_FORMAT_FLAG_ALPHA;
  header.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  const std::unique_ptr<png_image, void (*)(png_image*)> freed(&header, png_image_free);
  const Image image = take_image(header.height, header.width, has_alpha ? 4 : 3, take);
  if (!png_image_finish_read(&header, nullptr, image.pixels, 0, nullptr)) return {};
  return image;
}

Image decode_webp(const uint8_t* data, int64_t size, const TakePixels& take) {
  int width = 0;
  int height = 0;
  const auto bytes = static_cast<size_t>(size);
  if (!WebPGetInfo(data, bytes, &width, &height)) return {};
  const Image image = take_image(height, width, 3, take);
  const size_t image_bytes = static_cast<size_t>(height) * static_cast<size_t>(width) * 3;
  if (!WebPDecodeRGBInto(data, bytes, image.pixels, image_bytes, width * 3)) return {};
  return image;
}

/// A file in memory with the I/O callbacks of libtiff.
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

/// libtiff would print errors of broken files to the terminal.
int keep_quiet(TIFF* /*file*/, void* /*data*/, const char* /*module*/, const char* /*format*/,
               va_list /*arguments*/) {
  return 1;
}

using TiffFile = std::unique_ptr<TIFF, void (*)(TIFF*)>;

/// `most_bytes`: the limit of a single allocation by libtiff.
TiffFile open_tiff(MemoryFile& memory, tmsize_t most_bytes) {
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_quiet, nullptr);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), keep_quiet, nullptr);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), most_bytes);
  memory.at = 0;
  return {TIFFClientOpenExt("image", "rm", &memory, MemoryFile::read, MemoryFile::write,
                            MemoryFile::seek, MemoryFile::close, MemoryFile::size_of, nullptr,
                            nullptr, options.get()),
          TIFFClose};
}

Image decode_tiff(const uint8_t* data, int64_t size, const TakePixels& take) {
  constexpr tmsize_t kHeaderBytes = 1 << 20;
  constexpr tmsize_t kMostPixelBytes = 8;  // of a strip: four channels of 16 bits
  MemoryFile memory = {data, static_cast<tmsize_t>(size)};
  uint32_t width = 0;
  uint32_t height = 0;
  {
    const TiffFile header = open_tiff(memory, kHeaderBytes + static_cast<tmsize_t>(size));
    if (!header || !TIFFGetField(header.get(), TIFFTAG_IMAGEWIDTH, &width) ||
        !TIFFGetField(header.get(), TIFFTAG_IMAGELENGTH, &height))
      return {};
  }
  const Image image = take_image(height, width, sizeof(uint32_t), take);
  if (!image.pixels) return {};
  const TiffFile file = open_tiff(memory, kHeaderBytes + static_cast<tmsize_t>(size) +
                                              image.height * image.width * kMostPixelBytes);
  auto* pixels = reinterpret_cast<uint32_t*>(image.pixels);
  if (!file ||
      !TIFFReadRGBAImageOriented(file.get(), width, height, pixels, ORIENTATION_TOPLEFT, 1))
    return {};
  const int64_t count = image.height * image.width;
  for (int64_t i = 0; i < count; ++i) {  // in place; works for either byte order
    const uint32_t pixel = pixels[i];
    image.pixels[4 * i] = static_cast<uint8_t>(TIFFGetR(pixel));
    image.pixels[4 * i + 1] = static_cast<uint8_t>(TIFFGetG(pixel));
    image.pixels[4 * i + 2] = static_cast<uint8_t>(TIFFGetB(pixel));
  }
  return image;
}

}  // namespace

Image decode_image(const uint8_t* data, int64_t size, const TakePixels& take) {
  const std::string_view head(reinterpret_cast<const char*>(data),
                              static_cast<size_t>(std::min<int64_t>(size, 16)));
  const auto starts = [&](std::string_view mark) { return head.substr(0, mark.size()) == mark; };
  using namespace std::string_view_literals;
  if (starts("\xFF\xD8\xFF"sv)) return decode_jpeg(data, size, take);
  if (starts("\x89PNG"sv)) return decode_png(data, size, take);
  if (starts("RIFF"sv) && head.substr(8, 4) == "WEBP"sv) return decode_webp(data, size, take);
  if (starts("II*\0"sv) || starts("MM\0*"sv) || starts("II+\0"sv) || starts("MM\0+"sv))
    return decode_tiff(data, size, take);
  if (starts("\0\0\0\x0CjP  "sv)) return decode_jpeg2000(data, size, false, take);
  if (starts("\xFF\x4F\xFF\x51"sv)) return decode_jpeg2000(data, size, true, take);
  if (starts("BM"sv)) return decode_bmp(data, size, take);
  if (head.size() > 2 && head[0] == 'P' && head[1] >= '1' && head[1] <= '6')
    return decode_portable(data, size, take);
  return {};
}

}  // namespace gantry::cpu
