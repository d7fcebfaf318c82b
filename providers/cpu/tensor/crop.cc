// SPDX-License-Identifier: Apache-2.0
// CropAndResize of com.microsoft: crops boxes of images and resizes each to one size, with aligned
// corners.
#include <gantry/sdk/rows.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "attributes.h"
#include "families.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// Sample positions along one axis of the image.
struct Samples {
  float begin;
  float end;
  int64_t extent;
  int64_t count;

  [[nodiscard]] float at(int64_t i) const {
    const auto last = static_cast<float>(extent - 1);
    if (count == 1) return 0.5F * (begin + end) * last;
    if (i == count - 1) return end * last;
    return begin * last +
           static_cast<float>(i) * ((end - begin) * last / static_cast<float>(count - 1));
  }
};

class CropAndResize final : public NodeKernel {
 public:
  explicit CropAndResize(const sdk::NodeView& node)
      : NodeKernel(node),
        is_nearest_(read_choice(node, "mode", "bilinear", {"bilinear", "nearest"}) == 1),
        outside_(node.get_float("extrapolation_value", 0)) {}

  void run(sdk::Call& call) const override {
    require_rank(call, 0, 4);
    require_rank(call, 1, 2);
    require_rank(call, 2, 1);
    const sdk::Shape x = call.shape(0);
    const int64_t count = call.shape(2)[0];
    if (call.shape(1)[0] != count || call.shape(1)[1] != 4) {
      fail("input 1 has shape " + to_string(call.shape(1)) + ", needs [" + std::to_string(count) +
           ", 4]");
    }
    const Dims size = read_ints(call, 3);
    if (size.rank() != 2 || size[0] < 1 || size[1] < 1)
      fail("input 3 is no height and width of at least 1");
    const auto* images = call.data<int32_t>(2);
    for (int64_t i = 0; i < count; ++i) {
      if (images[i] < 0 || images[i] >= x[0]) {
        fail("input 2 has image " + std::to_string(images[i]) + " of " + std::to_string(x[0]));
      }
    }
    const int64_t extents[] = {count, x[1], size[0], size[1]};
    const sdk::Shape shape(extents, 4);
    static_cast<void>(count_of(shape));  // throws if there are too many
    auto* y = static_cast<float*>(call.output(0, GANTRY_FLOAT, shape).data);
    const auto* source = call.data<float>(0);
    const auto* boxes = call.data<float>(1);
    const int64_t plane = x[2] * x[3];
    call.parallel_for(count * x[1], 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* box = boxes + i / x[1] * 4;
        const Samples rows = {box[0], box[2], x[2], size[0]};
        const Samples columns = {box[1], box[3], x[3], size[1]};
        const int64_t image = images[i / x[1]];
        crop(source + (image * x[1] + i % x[1]) * plane, rows, columns, y + i * size[0] * size[1]);
      }
    });
  }

 private:
  void crop(const float* image, const Samples& rows, const Samples& columns, float* y) const {
    for (int64_t i = 0; i < rows.count; ++i) {
      const float row = rows.at(i);
      for (int64_t k = 0; k < columns.count; ++k)
        y[i * columns.count + k] = sample(image, row, columns.at(k), rows.extent, columns.extent);
    }
  }
  [[nodiscard]] float sample(const float* image, float row, float column, int64_t height,
                             int64_t width) const {
    const bool is_inside = row >= 0 && row <= static_cast<float>(height - 1) && column >= 0 &&
                           column <= static_cast<float>(width - 1);
    if (!is_inside) return outside_;  // a number that is none, too
    const auto pixel = [&](float r, float c) {
      return image[static_cast<int64_t>(r) * width + static_cast<int64_t>(c)];
    };
    if (is_nearest_) return pixel(std::round(row), std::round(column));
    const float top = std::floor(row);
    const float left = std::floor(column);
    const auto between = [](float a, float b, float share) { return a + (b - a) * share; };
    const auto line = [&](float r) {
      return between(pixel(r, left), pixel(r, std::ceil(column)), column - left);
    };
    return between(line(top), line(std::ceil(row)), row - top);
  }

  bool is_nearest_;
  float outside_;
};

constexpr sdk::Marks kSizeMarks = {.host_inputs = 1U << 3, .signature_inputs = 1U << 3};

constexpr sdk::KernelRow kCropRows[] = {
    {"CropAndResize", 1, sdk::kLatest, sdk::dtypes(GANTRY_FLOAT), sdk::make<CropAndResize>,
     kSizeMarks, nullptr, "com.microsoft"},
};

}  // namespace

sdk::KernelTable crop_kernels() { return sdk::table(kCropRows); }

}  // namespace gantry::cpu
