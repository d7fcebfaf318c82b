// SPDX-License-Identifier: Apache-2.0
// ImageDecoder (opset 20): decodes an image file. Data that cannot be decoded gives an empty image,
// as ONNX specifies.
#include <gantry/sdk/rows.h>

#include <cstdint>
#include <string>

#include "attributes.h"
#include "families.h"
#include "media/media.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

// Limit of the pixels of an image.
constexpr int64_t kMostPixels = int64_t{1} << 27;

enum class Format { kRgb, kBgr, kGrayscale };

class ImageDecoder final : public NodeKernel {
 public:
  explicit ImageDecoder(const sdk::NodeView& node)
      : NodeKernel(node),
        media_(media()),
        format_(read_choice<Format>(node, "pixel_format", "RGB", {"RGB", "BGR", "Grayscale"})) {}

  void run(sdk::Call& call) const override {
    require_rank(call, 0, 1);
    const Image image = media_.decode_image(
        call.data<uint8_t>(0), call.shape(0)[0],
        [&](int64_t height, int64_t width, int64_t pixel_bytes) {
          if (width > kMostPixels / height) {
            fail("the image has " + std::to_string(height) + " x " + std::to_string(width) +
                     " pixels by its header, expected at most " + std::to_string(kMostPixels),
                 GANTRY_UNSUPPORTED);
          }
          return call.scratch<uint8_t>(height * width * pixel_bytes);
        });
    const bool is_gray = format_ == Format::kGrayscale;
    auto* y = static_cast<uint8_t*>(
        call.output(0, GANTRY_UINT8, {image.height, image.width, is_gray ? 1 : 3}).data);
    const int64_t count = image.height * image.width;
    const bool is_reversed = format_ == Format::kBgr;
    call.parallel_for(count, 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const uint8_t* pixel = image.pixels + image.pixel_bytes * i;
        if (is_gray) {
          // The luma of BT.601, in units of 2^-16.
          y[i] = static_cast<uint8_t>(
              (pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16);
        } else {
          for (int k = 0; k < 3; ++k) y[3 * i + k] = pixel[is_reversed ? 2 - k : k];
        }
      }
    });
  }

 private:
  const Media& media_;
  Format format_;
};

constexpr sdk::KernelRow kImageRows[] = {
    {"ImageDecoder", 20, sdk::kLatest, sdk::dtypes(GANTRY_UINT8), sdk::make<ImageDecoder>},
};

}  // namespace

sdk::KernelTable image_kernels() { return sdk::table(kImageRows); }

}  // namespace gantry::cpu
