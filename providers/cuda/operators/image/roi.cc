// SPDX-License-Identifier: Apache-2.0
// Pooling over regions of images: RoiAlign, MaxRoiPool. A batch index out of range means the
// nearest image; a region without finite extent gives NaN: a kernel cannot report an error.
#include "kernels/image/roi.h"

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

/// Limit of samples per bin and axis; only boxes far larger than the image exceed it.
constexpr int64_t kMostSamples = 1 << 16;

// Parameters for `rows` x `columns` bins per region. `shape`: of the result.
RoiParameters parameters_of(const Planner& planner, int64_t rows, int64_t columns, int64_t numbers,
                            Extents& shape) {
  const Extents& x = planner.shape(0);
  const Extents& regions = planner.shape(1);
  if (x.size() != 4 || regions.size() != 2 || regions[1] != numbers) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     "images of the shape " + text_of(x) + " and regions of " + text_of(regions) +
                         ", expected [N, C, H, W] and [regions, " + std::to_string(numbers) + "]");
  }
  if (planner.input(1).dtype != planner.input(0).dtype)
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, "images and regions have different element types");
  shape = {regions[0], x[1], rows, columns};
  RoiParameters p = {};
  p.count = count_of(shape);
  if (p.count == 0) return p;
  if (count_of(x) == 0 || std::max(x[2], x[3]) >= int64_t{1} << 30) {
    throw sdk::Error(GANTRY_UNSUPPORTED,
                     "regions of images of the shape " + text_of(x) + " cannot be pooled");
  }
  p.batch = x[0];
  p.height = x[2];
  p.width = x[3];
  p.channels = divisor_of(x[1]);
  p.rows = divisor_of(rows);
  p.columns = divisor_of(columns);
  return p;
}

void launch_regions(Planner& planner, const RoiParameters& p, const Buffer& y, bool has_images,
                    const std::string& defines, const char* file) {
  const uint32_t dtype = planner.input(0).dtype;
  const std::string body = std::string("\ntypedef ") + index_type(p.count < int64_t{1} << 31) +
                           " Index;\ntypedef " + type_name(dtype) + " T;\ntypedef " +
                           computed_name(dtype) + " C;\n" + defines +
                           std::string(kernel_text(file));
  std::vector<std::pair<const void* const*, Buffer>> addresses = {
      {&p.result, y}, {&p.source, Planner::in(0)}, {&p.regions, Planner::in(1)}};
  if (has_images) {
    addresses.emplace_back(reinterpret_cast<const void* const*>(&p.images), Planner::in(2));
  }
  planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "roi.h"}, body),
                 blocks_for(planner, p.count), kThreads, p, addresses);
}

class RoiAlign final : public Operation {
 public:
  explicit RoiAlign(const NodeView& node)
      : rows_(node.get_int("output_height", 1)),
        columns_(node.get_int("output_width", 1)),
        samples_(node.get_int("sampling_ratio", 0)),
        scale_(node.get_float("spatial_scale", 1)),
        takes_largest_(node.get_string("mode", "avg") == "max"),
        // Version 10 lacks the attribute coordinate_transformation_mode and does not shift by half
        // a pixel.
        is_half_pixel_(node.get_string("coordinate_transformation_mode",
                                       node.since_version() >= 16 ? "half_pixel" : "") ==
                       "half_pixel") {}

  void plan(Planner& planner) const override {
    Extents shape;
    RoiParameters p = parameters_of(planner, rows_, columns_, 4, shape);
    if (planner.shape(2) != Extents{shape[0]}) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "batch indices of the shape " +
                                                    text_of(planner.shape(2)) + " for " +
                                                    std::to_string(shape[0]) + " regions");
    }
    const Buffer y = planner.output(0, planner.input(0).dtype, shape);
    if (p.count == 0) return;
    p.samples = samples_;
    p.scale = scale_;
    launch_regions(planner, p, y, true,
                   std::string("#define HALF_PIXEL ") + (is_half_pixel_ ? "1" : "0") +
                       "\n#define TAKES_LARGEST " + (takes_largest_ ? "1" : "0") +
                       "\n#define MOST_SAMPLES " + std::to_string(kMostSamples) + "\n",
                   "roi_align.cu");
  }

 private:
  int64_t rows_;
  int64_t columns_;
  int64_t samples_;
  float scale_;
  bool takes_largest_;
  bool is_half_pixel_;
};

class MaxRoiPool final : public Operation {
 public:
  explicit MaxRoiPool(const NodeView& node)
      : pooled_(node.get_ints("pooled_shape")), scale_(node.get_float("spatial_scale", 1)) {}

  void plan(Planner& planner) const override {
    Extents shape;
    RoiParameters p = parameters_of(planner, pooled_.at(0), pooled_.at(1), 5, shape);
    const Buffer y = planner.output(0, planner.input(0).dtype, shape);
    if (p.count == 0) return;
    p.scale = scale_;
    launch_regions(planner, p, y, false, "", "max_roi_pool.cu");
  }

 private:
  Extents pooled_;
  float scale_;
};

std::string is_aligned(const NodeView& node) {
  const std::string mode = node.get_string("mode", "avg");
  if (mode != "avg" && mode != "max") return "the mode " + mode + " is not known";
  const std::string position = node.get_string("coordinate_transformation_mode", "half_pixel");
  if (position != "half_pixel" && position != "output_half_pixel")
    return "the coordinate transformation " + position + " is not known";
  const int64_t samples = node.get_int("sampling_ratio", 0);
  return node.get_int("output_height", 1) < 1 || node.get_int("output_width", 1) < 1 ||
                 samples < 0 || samples > kMostSamples
             ? "the numbers of bins or of samples are not possible"
             : "";
}

std::string has_bins(const NodeView& node) {
  const Extents pooled = node.get_ints("pooled_shape");
  return pooled.size() == 2 && pooled[0] > 0 && pooled[1] > 0
             ? ""
             : "the pooled shape is not two positive numbers";
}

constexpr sdk::KernelRow kRows[] = {
    {"MaxRoiPool", 1, sdk::kLatest, sdk::kFloats, make<MaxRoiPool>, {}, has_bins},
    {"RoiAlign", 10, sdk::kLatest, sdk::kFloats, make<RoiAlign>, {}, is_aligned},
};

}  // namespace

sdk::KernelTable roi_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
