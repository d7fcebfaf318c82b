// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: nearest, linear and cubic, along any axes.
#include "../kernels/resize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../kernel_texts.h"
#include "operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

// By their numbers in the kernel's text.
constexpr const char* kTransforms[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                       "align_corners", "asymmetric"};
constexpr const char* kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

template <size_t N>
int number_of(const char* const (&names)[N], const std::string& name) {
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  return found == std::end(names) ? -1 : static_cast<int>(found - std::begin(names));
}

// By its number of elements along an axis; 0: there is none.
int taps_of(const std::string& mode) {
  if (mode == "nearest") return 1;
  if (mode == "linear" || mode == "bilinear") return 2;
  return mode == "cubic" ? 4 : 0;
}

// Upsample, and the first version of Resize, begin at the outer edge and round down, which Resize
// does where it enlarges only.
constexpr int kAsymmetric = 4;
constexpr int kFloor = 2;
constexpr int kFloorIfEnlarged = 4;

class Resize final : public Operation {
 public:
  explicit Resize(const NodeView& node)
      : taps_(taps_of(node.get_string("mode", "nearest"))),
        transform_(kAsymmetric),
        nearest_(node.op_type() == "Upsample" ? kFloor : kFloorIfEnlarged),
        cubic_a_(node.get_float("cubic_coeff_a", -0.75F)),
        axes_(node.get_ints("axes")),
        scales_(node.get_floats("scales")),
        scales_slot_(node.since_version() > 10 ? 2 : 1) {
    if (node.since_version() == 1)
      scales_ = {1, 1, node.get_float("height_scale", 1), node.get_float("width_scale", 1)};
    if (node.since_version() > 10) {
      transform_ =
          number_of(kTransforms, node.get_string("coordinate_transformation_mode", "half_pixel"));
      nearest_ = number_of(kNearest, node.get_string("nearest_mode", "round_prefer_floor"));
    }
  }

  void plan(Planner& planner) const override {
    const InputFacts& x = planner.input(0);
    if (x.shape.empty() || x.shape.size() > MOST_AXES)
      throw sdk::Error(GANTRY_UNSUPPORTED, "resizing of the shape " + text_of(x.shape));
    ResizeParameters p = {};
    const Extents shape = measure(planner, p);
    p.count = count_of(shape);
    p.cubic_a = cubic_a_;
    const Buffer y = planner.output(0, x.dtype, shape);
    if (p.count == 0) return;
    Walk walk{shape, {dense_strides(x.shape)}};
    walk.write_extents(p.extents);
    walk.write_strides(0, p.strides);
    const bool is_float = (sdk::dtype_bit(x.dtype) & sdk::kFloats) != 0;
    // Integers that a float holds are computed in it.
    const std::string computed = taps_ == 1 || is_float  ? computed_name(x.dtype)
                                 : bytes_of(x.dtype) < 4 ? "float"
                                                         : "double";
    const std::string body =
        std::string("\ntypedef ") + index_type(walk.is_small()) + " Index;\ntypedef " +
        type_name(x.dtype) + " T;\ntypedef " + computed + " C;\n#define RANK " +
        std::to_string(shape.size()) + "\n#define TAPS " + std::to_string(taps_) +
        "\n#define TRANSFORM " + std::to_string(transform_) + "\n#define NEAREST " +
        std::to_string(nearest_) + "\n#define ROUNDS " + (taps_ > 1 && !is_float ? "1\n" : "0\n") +
        std::string(kernel_text("resize.cu"));
    planner.launch(kernel_source({"index.h", "index.cu", "resize.h"}, body),
                   blocks_for(planner, p.count), kThreads, p,
                   {{&p.result, y}, {&p.source, Planner::in(0)}});
  }

 private:
  // The result's shape, and the scales.
  [[nodiscard]] Extents measure(const Planner& planner, ResizeParameters& p) const {
    const InputFacts& x = planner.input(0);
    Extents axes = axes_;
    if (axes.empty()) {
      axes.resize(x.shape.size());
      std::iota(axes.begin(), axes.end(), 0);
    }
    const std::vector<float> scales = scales_of(planner);
    const bool by_scale = !scales.empty();
    const auto given = by_scale               ? scales.size()
                       : planner.has_input(3) ? planner.host_integers(3).size()
                                              : size_t{0};
    if (given != axes.size()) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, std::to_string(given) + " scales or sizes for " +
                                                    std::to_string(axes.size()) + " axes");
    }
    Extents shape = x.shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      p.in[axis] = p.out[axis] = shape[axis];
      p.scale[axis] = 1;
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<size_t>(checked_axis(axes[i], x.rank(), "an axis"));
      const auto extent = static_cast<float>(shape[axis]);
      if (by_scale) {
        p.scale[axis] = scales[i];
        p.exact_out[axis] = extent * p.scale[axis];
        shape[axis] = static_cast<int64_t>(std::floor(p.exact_out[axis]));
      } else {
        shape[axis] = planner.host_integers(3)[i];
        p.exact_out[axis] = static_cast<float>(shape[axis]);
        p.scale[axis] = extent == 0 ? 1 : p.exact_out[axis] / extent;
      }
      p.out[axis] = shape[axis];
      p.is_resized[axis] = p.in[axis] != p.out[axis] || p.scale[axis] != 1 ? 1 : 0;
    }
    return shape;
  }

  // Those of the attribute, or of the input; none: sizes are given.
  [[nodiscard]] std::vector<float> scales_of(const Planner& planner) const {
    if (!scales_.empty() || !planner.has_input(scales_slot_)) return scales_;
    const InputFacts& input = planner.input(scales_slot_);
    const auto* scales = static_cast<const float*>(input.host_data);
    return {scales, scales + input.element_count()};
  }

  int taps_;
  int transform_;
  int nearest_;
  float cubic_a_;
  Extents axes_;
  std::vector<float> scales_;  // of the attribute; empty: they are an input
  int scales_slot_;
};

std::string is_supported(const NodeView& node) {
  const std::string mode = node.get_string("mode", "nearest");
  if (taps_of(mode) == 0) return "the mode " + mode + " is not known";
  const std::string transform = node.get_string("coordinate_transformation_mode", "half_pixel");
  if (number_of(kTransforms, transform) < 0)
    return "the coordinate transformation " + transform + " is not supported";
  if (number_of(kNearest, node.get_string("nearest_mode", "round_prefer_floor")) < 0)
    return "the nearest mode is not known";
  if (node.get_int("antialias", 0) != 0 || node.get_int("exclude_outside", 0) != 0)
    return "antialiasing and weights without what is outside are not supported";
  if (node.get_string("keep_aspect_ratio_policy", "stretch") != "stretch")
    return "sizes that keep the aspect ratio are not supported";
  return "";
}

constexpr sdk::KernelRow kRows[] = {
    {"Resize", 10, 10, sdk::kNumbers, make<Resize, 2>, host_marks(2), is_supported},
    {"Resize", 11, sdk::kLatest, sdk::kNumbers, make<Resize, 14>, host_marks(14), is_supported},
    {"Upsample", 1, 8, sdk::kNumbers, make<Resize>, {}, is_supported},
    {"Upsample", 9, 10, sdk::kNumbers, make<Resize, 2>, host_marks(2), is_supported},
};

}  // namespace

sdk::KernelTable resize_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
