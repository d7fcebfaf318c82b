// SPDX-License-Identifier: Apache-2.0
// Pooling of regions of interest: RoiAlign, MaxRoiPool.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "attributes.h"
#include "convert.h"
#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// Most samples of a bin along one axis; larger boxes are not regions of a real image.
constexpr int64_t kMostSamples = 1 << 16;

class RoiAlign final : public NodeKernel {
 public:
  explicit RoiAlign(const sdk::NodeView& node)
      : NodeKernel(node),
        height_(node.get_int("output_height", 1)),
        width_(node.get_int("output_width", 1)),
        samples_(node.get_int("sampling_ratio", 0)),
        scale_(node.get_float("spatial_scale", 1.0F)) {
    takes_largest_ = read_choice(node, "mode", "avg", {"avg", "max"}) == 1;
    // Version 10 has no such attribute and no half-pixel shift.
    is_half_pixel_ = read_choice(node, "coordinate_transformation_mode",
                                 node.since_version() >= 16 ? "half_pixel" : "output_half_pixel",
                                 {"half_pixel", "output_half_pixel"}) == 0;
    if (height_ < 1 || width_ < 1 || samples_ < 0 || samples_ > kMostSamples) {
      node.fail(GANTRY_INVALID_MODEL,
                "output_height and output_width must be at least 1, sampling_ratio at least 0");
    }
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    const sdk::Shape rois = call.shape(1);
    const sdk::Shape batches = call.shape(2);
    require_rank(call, 0, 4);
    if (rois.rank != 2 || rois[1] != 4 || batches.rank != 1 || batches[0] != rois[0]) {
      fail("regions of shape " + to_string(rois) + " and batch indices of shape " +
           to_string(batches) + ", expected [N, 4] and [N]");
    }
    const auto* batch = call.data<int64_t>(2);
    for (int64_t i = 0; i < rois[0]; ++i) {
      if (batch[i] < 0 || batch[i] >= x[0]) {
        fail("batch index " + std::to_string(batch[i]) + " is outside a batch of " +
             std::to_string(x[0]));
      }
    }
    const int64_t extents[] = {rois[0], x[1], height_, width_};
    gantry_tensor& output = call.output(0, call.input(0).dtype, {extents, 4});
    if (count_of({extents, 4}) == 0) return;
    if (x[2] == 0 || x[3] == 0) fail("the data have no elements to sample");
    if (call.input(1).dtype != call.input(0).dtype) fail("the inputs must have one element type");
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      compute(call, widened<T>(call, call.input(0)), widened<T>(call, call.input(1)), batch,
              static_cast<T*>(output.data));
    });
  }

 private:
  /// A bilinear sample: four neighbours and their weights.
  template <class C>
  struct Sample {
    int64_t offset[4];
    C weight[4];
  };
  /// The samples of a bin along one axis: first pixel, distance, number (-1: not to be had).
  template <class C>
  struct Line {
    C start;
    C bin;
    int64_t count;
    [[nodiscard]] C at(int64_t bin_index, int64_t i) const {
      return start + static_cast<C>(bin_index) * bin +
             (static_cast<C>(i) + C(0.5)) * bin / static_cast<C>(count);
    }
  };

  template <class C>
  Line<C> line(C low, C high, int64_t bins) const {
    const C offset = is_half_pixel_ ? C(0.5) : C{0};
    const C start = low * static_cast<C>(scale_) - offset;
    C extent = high * static_cast<C>(scale_) - offset - start;
    if (!is_half_pixel_) extent = std::max(extent, C{1});
    const C bin = extent / static_cast<C>(bins);
    const C wanted = samples_ > 0 ? static_cast<C>(samples_) : std::ceil(bin);
    if (!(wanted <= static_cast<C>(kMostSamples))) return {start, bin, -1};
    return {start, bin, wanted > C{0} ? static_cast<int64_t>(wanted) : 0};
  }

  template <class C>
  static Sample<C> sample(C y, C x, int64_t height, int64_t width) {
    Sample<C> result = {};
    if (!(y >= C(-1) && y <= static_cast<C>(height) && x >= C(-1) && x <= static_cast<C>(width)))
      return result;
    y = std::max(y, C{0});
    x = std::max(x, C{0});
    const auto y0 = std::min(static_cast<int64_t>(y), height - 1);
    const auto x0 = std::min(static_cast<int64_t>(x), width - 1);
    const int64_t y1 = std::min(y0 + 1, height - 1);
    const int64_t x1 = std::min(x0 + 1, width - 1);
    const C ty = y0 == height - 1 ? C{0} : y - static_cast<C>(y0);
    const C tx = x0 == width - 1 ? C{0} : x - static_cast<C>(x0);
    const int64_t offsets[4] = {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1};
    const C weights[4] = {(1 - ty) * (1 - tx), (1 - ty) * tx, ty * (1 - tx), ty * tx};
    std::copy_n(offsets, 4, result.offset);
    std::copy_n(weights, 4, result.weight);
    return result;
  }

  template <class T, class C>
  void compute(sdk::Call& call, const C* x, const C* rois, const int64_t* batch, T* y) const {
    const sdk::Shape shape = call.shape(0);
    const int64_t count = call.shape(1)[0];
    for (int64_t i = 0; i < count; ++i) {
      const C* box = rois + 4 * i;
      if (line(box[0], box[2], width_).count < 0 || line(box[1], box[3], height_).count < 0)
        fail("region " + std::to_string(i) + " is too large or not a number");
    }
    const int64_t channels = shape[1];
    const int64_t bins = height_ * width_;
    const int64_t grain = std::max<int64_t>(1, 2048 / std::max<int64_t>(channels, 1));
    const int64_t units = count * bins;
    const int64_t parts = std::clamp<int64_t>(units / grain, 1, call.thread_count());
    auto* memory = call.scratch<C>(parts * channels);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        C* pooled = memory + part * channels;
        for (int64_t i = units * part / parts; i < units * (part + 1) / parts; ++i) {
          const int64_t roi = i / bins;
          const C* source = x + batch[roi] * channels * shape[2] * shape[3];
          pool(source, rois + 4 * roi, i % bins, shape, pooled);
          T* target = y + roi * channels * bins + i % bins;
          for (int64_t c = 0; c < channels; ++c) target[c * bins] = static_cast<T>(pooled[c]);
        }
      }
    });
  }

  /// Computes one bin of a region for all channels, which share the sample positions.
  template <class C>
  void pool(const C* x, const C* box, int64_t bin, sdk::Shape shape, C* pooled) const {
    const Line<C> columns = line(box[0], box[2], width_);
    const Line<C> rows = line(box[1], box[3], height_);
    const int64_t channels = shape[1];
    const int64_t plane = shape[2] * shape[3];
    std::fill_n(pooled, channels, C{0});
    bool is_first = true;
    for (int64_t iy = 0; iy < rows.count; ++iy) {
      for (int64_t ix = 0; ix < columns.count; ++ix) {
        const Sample<C> s =
            sample(rows.at(bin / width_, iy), columns.at(bin % width_, ix), shape[2], shape[3]);
        for (int64_t c = 0; c < channels; ++c) {
          const C* from = x + c * plane;
          C parts[4];
          for (int k = 0; k < 4; ++k) parts[k] = s.weight[k] * from[s.offset[k]];
          if (!takes_largest_) {
            pooled[c] += parts[0] + parts[1] + parts[2] + parts[3];
            continue;
          }
          // ONNX takes the maximum over the weighted neighbours, not over their sums.
          const C most = std::max(std::max(parts[0], parts[1]), std::max(parts[2], parts[3]));
          pooled[c] = is_first ? most : std::max(pooled[c], most);
        }
        is_first = false;
      }
    }
    if (takes_largest_) return;
    const auto samples = static_cast<C>(std::max<int64_t>(rows.count * columns.count, 1));
    for (int64_t c = 0; c < channels; ++c) pooled[c] /= samples;
  }

  int64_t height_;
  int64_t width_;
  int64_t samples_;
  float scale_;
  bool takes_largest_;
  bool is_half_pixel_;
};

class MaxRoiPool final : public NodeKernel {
 public:
  explicit MaxRoiPool(const sdk::NodeView& node)
      : NodeKernel(node), scale_(node.get_float("spatial_scale", 1.0F)) {
    const std::vector<int64_t> pooled = node.get_ints("pooled_shape");
    if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1)
      node.fail(GANTRY_INVALID_MODEL, "attribute pooled_shape must hold two positive numbers");
    height_ = pooled[0];
    width_ = pooled[1];
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    const sdk::Shape rois = call.shape(1);
    require_rank(call, 0, 4);
    if (rois.rank != 2 || rois[1] != 5)
      fail("regions of shape " + to_string(rois) + ", expected [N, 5]");
    if (call.input(1).dtype != call.input(0).dtype) fail("the inputs must have one element type");
    const int64_t extents[] = {rois[0], x[1], height_, width_};
    gantry_tensor& output = call.output(0, call.input(0).dtype, {extents, 4});
    if (count_of({extents, 4}) == 0) return;
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      compute(call, widened<T>(call, call.input(0)), widened<T>(call, call.input(1)),
              static_cast<T*>(output.data));
    });
  }

 private:
  /// Elements [begin, end) of one of `bins` equal parts of `extent` elements from `start` on, kept
  /// within [0, limit).
  struct Stretch {
    int64_t begin;
    int64_t end;
  };
  static Stretch stretch(int64_t start, int64_t extent, int64_t bins, int64_t bin, int64_t limit) {
    const double size = static_cast<double>(extent) / static_cast<double>(bins);
    const auto low = static_cast<int64_t>(std::floor(static_cast<double>(bin) * size));
    const auto high = static_cast<int64_t>(std::ceil(static_cast<double>(bin + 1) * size));
    return {std::clamp<int64_t>(low + start, 0, limit),
            std::clamp<int64_t>(high + start, 0, limit)};
  }
  template <class C>
  int64_t scaled(C coordinate) const {
    const double pixel = std::round(static_cast<double>(coordinate) * scale_);
    if (!(std::fabs(pixel) < 0x1p30))
      fail("a region has a coordinate that is not finite or too large for a pixel");
    return static_cast<int64_t>(pixel);
  }

  template <class T, class C>
  void compute(sdk::Call& call, const C* x, const C* rois, T* y) const {
    const sdk::Shape shape = call.shape(0);
    const int64_t count = call.shape(1)[0];
    auto* boxes = call.scratch<int64_t>(count * 5);
    for (int64_t i = 0; i < count; ++i) {
      const C index = rois[5 * i];
      if (!(index >= C{0} && index < static_cast<C>(shape[0])))
        fail("a region's batch index is outside a batch of " + std::to_string(shape[0]));
      boxes[5 * i] = static_cast<int64_t>(index);
      for (int k = 1; k < 5; ++k) boxes[5 * i + k] = scaled(rois[5 * i + k]);
    }
    const int64_t channels = shape[1];
    const int64_t bins = height_ * width_;
    call.parallel_for(count * channels, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t* box = boxes + i / channels * 5;
        const C* plane = x + (box[0] * channels + i % channels) * shape[2] * shape[3];
        for (int64_t bin = 0; bin < bins; ++bin) {
          const Stretch rows = stretch(box[2], std::max<int64_t>(box[4] - box[2] + 1, 1), height_,
                                       bin / width_, shape[2]);
          const Stretch columns = stretch(box[1], std::max<int64_t>(box[3] - box[1] + 1, 1), width_,
                                          bin % width_, shape[3]);
          y[i * bins + bin] = static_cast<T>(largest(plane, rows, columns, shape[3]));
        }
      }
    });
  }
  /// Maximum of a bin; 0 if it is empty.
  template <class C>
  static C largest(const C* plane, Stretch rows, Stretch columns, int64_t width) {
    if (rows.begin >= rows.end || columns.begin >= columns.end) return C{0};
    C result = -std::numeric_limits<C>::infinity();
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t column = columns.begin; column < columns.end; ++column)
        result = std::max(result, plane[row * width + column]);
    }
    return result;
  }

  float scale_;
  int64_t height_;
  int64_t width_;
};

constexpr sdk::KernelRow kRoiRows[] = {
    {"RoiAlign", 10, sdk::kLatest, sdk::kFloats, sdk::make<RoiAlign>},
    {"MaxRoiPool", 1, sdk::kLatest, sdk::kFloats, sdk::make<MaxRoiPool>},
};

}  // namespace

sdk::KernelTable roi_kernels() { return sdk::table(kRoiRows); }

}  // namespace gantry::cpu
