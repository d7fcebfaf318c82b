// SPDX-License-Identifier: Apache-2.0
#include "media/image_jpeg2000.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <openjpeg.h>

namespace gantry::cpu {

namespace {

/// The memory that an OpenJPEG stream reads.
struct Source {
  const uint8_t* data;
  int64_t size;
  int64_t at;
};

OPJ_SIZE_T read(void* target, OPJ_SIZE_T count, void* self) {
  auto* source = static_cast<Source*>(self);
  const int64_t left = std::min<int64_t>(source->size - source->at, static_cast<int64_t>(count));
  if (left <= 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(target, source->data + source->at, static_cast<size_t>(left));
  source->at += left;
  return static_cast<OPJ_SIZE_T>(left);
}
OPJ_OFF_T skip(OPJ_OFF_T count, void* self) {
  auto* source = static_cast<Source*>(self);
  const int64_t place = std::clamp<int64_t>(source->at + count, 0, source->size);
  const int64_t skipped = place - source->at;
  source->at = place;
  return skipped;
}
OPJ_BOOL seek(OPJ_OFF_T place, void* self) {
  auto* source = static_cast<Source*>(self);
  if (place < 0 || place > source->size) return OPJ_FALSE;
  source->at = place;
  return OPJ_TRUE;
}

constexpr uint32_t kMostComponents = 4;  // the library has four bytes for each of a pixel

/// A sample of any bit depth scaled to 8 bits.
int to_byte(const opj_image_comp_t& component, size_t at) {
  int64_t value = component.data[at];
  if (component.sgnd) value += int64_t{1} << (component.prec - 1);
  value = component.prec > 8   ? value >> (component.prec - 8)
          : component.prec < 8 ? value * 255 / ((1 << component.prec) - 1)
                               : value;
  return static_cast<int>(std::clamp<int64_t>(value, 0, 255));
}

uint8_t rounded(float value) {
  return static_cast<uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F));
}

Image to_rgb(const opj_image_t& source, const Image& image) {
  const uint32_t count = source.numcomps >= 3 ? 3 : 1;
  for (uint32_t i = 0; i < count; ++i) {
    const opj_image_comp_t& component = source.comps[i];
    // Subsampled components are not supported.
    if (!component.data || component.w != source.comps[0].w || component.h != source.comps[0].h ||
        component.prec < 1 || component.prec > 31)
      return {};
  }
  if (image.height != source.comps[0].h || image.width != source.comps[0].w) return {};
  const auto pixels = static_cast<size_t>(image.height * image.width);
  for (size_t i = 0; i < pixels; ++i) {
    uint8_t* pixel = image.pixels + 3 * i;
    int value[3];
    for (uint32_t k = 0; k < 3; ++k) value[k] = to_byte(source.comps[k < count ? k : 0], i);
    if (source.color_space == OPJ_CLRSPC_SYCC && count == 3) {
      const auto y = static_cast<float>(value[0]);
      const auto cb = static_cast<float>(value[1] - 128);
      const auto cr = static_cast<float>(value[2] - 128);
      pixel[0] = rounded(y + 1.402F * cr);
      pixel[1] = rounded(y - 0.344136F * cb - 0.714136F * cr);
      pixel[2] = rounded(y + 1.772F * cb);
    } else {
      for (int k = 0; k < 3; ++k) pixel[k] = static_cast<uint8_t>(value[k]);
    }
  }
  return image;
}

}  // namespace

Image decode_jpeg2000(const uint8_t* data, int64_t size, bool is_bare, const TakePixels& take) {
  Source source = {data, size, 0};
  const std::unique_ptr<opj_stream_t, void (*)(opj_stream_t*)> stream(
      opj_stream_default_create(OPJ_TRUE), [](opj_stream_t* made) { opj_stream_destroy(made); });
  const std::unique_ptr<opj_codec_t, void (*)(opj_codec_t*)> codec(
      opj_create_decompress(is_bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2),
      [](opj_codec_t* made) { opj_destroy_codec(made); });
  if (!stream || !codec) return {};
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), static_cast<OPJ_UINT64>(size));
  opj_stream_set_read_function(stream.get(), read);
  opj_stream_set_skip_function(stream.get(), skip);
  opj_stream_set_seek_function(stream.get(), seek);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* header = nullptr;
  if (!opj_setup_decoder(codec.get(), &parameters) ||
      !opj_read_header(stream.get(), codec.get(), &header))
    return {};
  const std::unique_ptr<opj_image_t, void (*)(opj_image_t*)> image(header, opj_image_destroy);
  if (image->numcomps < 1 || image->numcomps > kMostComponents) return {};
  const Image pixels = take_image(image->comps[0].h, image->comps[0].w, 3, take);
  // The others would have to be scaled, and may be larger.
  for (uint32_t i = 1; i < image->numcomps; ++i) {
    if (image->comps[i].w != pixels.width || image->comps[i].h != pixels.height) return {};
  }
  if (!opj_decode(codec.get(), stream.get(), image.get()) || image->numcomps == 0) return {};
  return to_rgb(*image, pixels);
}

}  // namespace gantry::cpu
