// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample. Nearest copies elements of any type by one table per axis
// (resize_nearest.h); linear and cubic make one pass per resized axis (resize_smooth.h). Strings
// are copied in every mode: the one with the largest weight.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "attributes.h"
#include "elements.h"
#include "families.h"
#include "image/resize_axis.h"
#include "image/resize_nearest.h"
#include "image/resize_smooth.h"
#include "node_kernel.h"

namespace gantry::cpu {

namespace {

/// Base of Resize and Upsample: the run, given the input and output extents of all axes.
class ResizeKernel : public NodeKernel {
 protected:
  explicit ResizeKernel(const sdk::NodeView& node) : NodeKernel(node) {
    const int mode =
        read_choice(node, "mode", "nearest", {"nearest", "linear", "bilinear", "cubic"});
    rule_.mode = mode == 0   ? ResizeMode::kNearest
                 : mode == 3 ? ResizeMode::kCubic
                             : ResizeMode::kLinear;
  }

  /// A plan that leaves all axes unchanged, for the derived kernel to modify.
  [[nodiscard]] ResizePlan whole(sdk::Call& call) const {
    ResizePlan plan;
    const sdk::Shape input = call.shape(0);
    check_rank(input.rank, label());
    plan.rank = input.rank;
    for (int i = 0; i < input.rank; ++i) {
      plan.axes[i].input = plan.axes[i].output = input[i];
      plan.axes[i].exact_output = static_cast<double>(input[i]);
    }
    return plan;
  }

  void set_scale(ResizeAxis& axis, float scale) const {
    if (!(scale > 0) || std::isinf(scale))
      fail("a scale is " + std::to_string(scale) + ", needs a positive number");
    const float exact = static_cast<float>(axis.input) * scale;  // in float, as shape inference
    if (!(exact < 9e18F)) fail("a scale of " + std::to_string(scale) + " is too large");
    axis.output = static_cast<int64_t>(std::floor(exact));
    axis.scale = scale_of(scale, axis.input, axis.output);
    axis.exact_output = static_cast<double>(axis.input) * axis.scale.value();
  }
  [[nodiscard]] const float* scales_input(sdk::Call& call, int slot, int64_t count) const {
    if (call.shape(slot).element_count() != count || call.input(slot).dtype != GANTRY_FLOAT) {
      fail("input " + std::to_string(slot) + " has " +
           std::to_string(call.shape(slot).element_count()) + " scales, needs " +
           std::to_string(count));
    }
    return call.data<float>(slot);
  }

  void resize(sdk::Call& call, const ResizePlan& plan) const {
    const uint32_t dtype = call.input(0).dtype;
    const Dims shape = plan.output();
    const int64_t count = count_of(shape.shape());
    if (count > 0 && call.shape(0).element_count() == 0)
      fail("an input without elements cannot be enlarged");
    if (rule_.mode == ResizeMode::kNearest) return nearest(call, rule_, plan, shape, count);
    if (dtype == GANTRY_STRING) {
      ResizeRule rule = rule_;
      rule.mode = ResizeMode::kNearest;
      rule.nearest = NearestRule::kPreferFloor;
      return nearest(call, rule, plan, shape, count);
    }
    dispatch<Concat<NumberTypes, ComplexTypes, TypeList<Boolean>>>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* target = static_cast<T*>(call.output(0, dtype, shape.shape()).data);
      if (count > 0)
        resize_smooth<T>(call, rule_, merged(plan, rule_.transform), call.data<T>(0), target);
    });
  }

  ResizeRule rule_;

 private:
  void nearest(sdk::Call& call, const ResizeRule& rule, const ResizePlan& plan, const Dims& shape,
               int64_t count) const {
    const uint32_t dtype = call.input(0).dtype;
    UnitWriter output(call, 0, dtype, shape.shape());
    if (count > 0) {
      const std::byte* source = read_units(call, 0);
      dispatch_unit(dtype, [&](auto type) {
        using U = typename decltype(type)::type;
        U fill = {};
        set_fill(dtype, &fill);
        resize_nearest<U>(call, rule, merged(plan, rule.transform),
                          reinterpret_cast<const U*>(source), fill, output.as<U>());
      });
    }
    output.finish();
  }

  /// Writes the extrapolation value as a unit (elements.h); zero for types that are not numeric.
  void set_fill(uint32_t dtype, void* unit) const {
    if (!(sdk::dtype_bit(dtype) & sdk::kNumbers)) return;
    dispatch<NumberTypes>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const T value = to_element<T>(rule_.extrapolation);
      std::memcpy(unit, &value, sizeof(T));
    });
  }
};

/// Upsample (opset 1 to 10): scales are attributes or input 1. Coordinates are asymmetric; nearest
/// rounds down.
class Upsample final : public ResizeKernel {
 public:
  explicit Upsample(const sdk::NodeView& node) : ResizeKernel(node) {
    has_input_ = node.since_version() >= 9;
    scales_ = node.get_floats("scales");
    if (node.since_version() < 7)
      scales_ = {1, 1, node.get_float("height_scale", 1), node.get_float("width_scale", 1)};
  }
  void run(sdk::Call& call) const override {
    ResizePlan plan = whole(call);
    if (!has_input_ && scales_.size() != static_cast<size_t>(plan.rank)) {
      fail(std::to_string(scales_.size()) + " scales are given for a tensor of rank " +
           std::to_string(plan.rank));
    }
    const float* scales = has_input_ ? scales_input(call, 1, plan.rank) : scales_.data();
    for (int i = 0; i < plan.rank; ++i) set_scale(plan.axes[i], scales[i]);
    resize(call, plan);
  }

 private:
  bool has_input_;
  std::vector<float> scales_;
};

/// Resize of opset 10: as Upsample, but it also downsamples.
class Resize10 final : public ResizeKernel {
 public:
  explicit Resize10(const sdk::NodeView& node) : ResizeKernel(node) {
    rule_.nearest = NearestRule::kOpset10;
  }
  void run(sdk::Call& call) const override {
    ResizePlan plan = whole(call);
    const float* scales = scales_input(call, 1, plan.rank);
    for (int i = 0; i < plan.rank; ++i) set_scale(plan.axes[i], scales[i]);
    resize(call, plan);
  }
};

class Resize final : public ResizeKernel {
 public:
  explicit Resize(const sdk::NodeView& node)
      : ResizeKernel(node), has_axes_(node.has("axes")), axes_(node.get_ints("axes")) {
    rule_.transform = read_choice<Transform>(
        node, "coordinate_transformation_mode", "half_pixel",
        {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn",
         "align_corners", "asymmetric", "tf_crop_and_resize"});
    rule_.nearest =
        read_choice<NearestRule>(node, "nearest_mode", "round_prefer_floor",
                                 {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
    rule_.cubic_a = node.get_float("cubic_coeff_a", -0.75F);
    rule_.extrapolation = node.get_float("extrapolation_value", 0);
    rule_.excludes_outside = node.get_int("exclude_outside", 0) != 0;
    rule_.antialias = node.get_int("antialias", 0) != 0 && rule_.mode != ResizeMode::kNearest;
    policy_ = read_choice<Policy>(node, "keep_aspect_ratio_policy", "stretch",
                                  {"stretch", "not_larger", "not_smaller"});
  }

  void run(sdk::Call& call) const override {
    ResizePlan plan = whole(call);
    Dims axes;
    for (int i = 0; i < (has_axes_ ? static_cast<int>(axes_.size()) : plan.rank); ++i) {
      axes.push(has_axes_ ? checked_axis(axes_[static_cast<size_t>(i)], plan.rank) : i);
    }
    if (call.has_input(3) && call.shape(3).element_count() > 0) {
      set_sizes(call, axes, plan);
    } else if (call.has_input(2)) {
      const float* scales = scales_input(call, 2, axes.rank());
      for (int i = 0; i < axes.rank(); ++i) set_scale(plan.axes[axes[i]], scales[i]);
    } else {
      fail("neither scales nor sizes are given");
    }
    if (rule_.transform == Transform::kCrop) set_regions(call, axes, plan);
    resize(call, plan);
  }

 private:
  enum class Policy { kStretch, kNotLarger, kNotSmaller };

  void set_sizes(sdk::Call& call, const Dims& axes, ResizePlan& plan) const {
    const Dims sizes = read_ints(call, 3);
    if (sizes.rank() != axes.rank()) {
      fail(std::to_string(sizes.rank()) + " sizes are given for " + std::to_string(axes.rank()) +
           " axes");
    }
    ResizeScale common = {
        policy_ == Policy::kNotLarger ? std::numeric_limits<double>::infinity() : 0, 1};
    for (int i = 0; i < axes.rank(); ++i) {
      ResizeAxis& axis = plan.axes[axes[i]];
      if (sizes[i] < 0) fail("a size is " + std::to_string(sizes[i]));
      if (axis.input == 0 && sizes[i] > 0) fail("an input without elements cannot be enlarged");
      axis.output = sizes[i];
      axis.exact_output = static_cast<double>(sizes[i]);
      if (axis.input != 0)
        axis.scale = {static_cast<double>(sizes[i]), static_cast<double>(axis.input)};
      const bool is_smaller = axis.scale.value() < common.value();
      if (is_smaller == (policy_ == Policy::kNotLarger)) common = axis.scale;
    }
    if (policy_ == Policy::kStretch) return;
    for (int i = 0; i < axes.rank(); ++i) {
      ResizeAxis& axis = plan.axes[axes[i]];
      const double exact = common.numerator * static_cast<double>(axis.input) / common.denominator;
      if (!(exact < 9e18)) fail("the sizes that keep the aspect ratio are too large");
      axis.output = static_cast<int64_t>(std::floor(exact + 0.5));
      axis.exact_output = exact;
      axis.scale = common;
    }
  }

  void set_regions(sdk::Call& call, const Dims& axes, ResizePlan& plan) const {
    if (!call.has_input(1) || call.shape(1).element_count() != 2 * axes.rank()) {
      fail("tf_crop_and_resize needs a roi of " + std::to_string(2 * axes.rank()) + " numbers");
    }
    dispatch<FloatTypes>(call.input(1).dtype, [&](auto type) {
      const auto* roi = call.data<typename decltype(type)::type>(1);
      for (int i = 0; i < axes.rank(); ++i) {
        plan.axes[axes[i]].roi_begin = static_cast<float>(roi[i]);
        plan.axes[axes[i]].roi_end = static_cast<float>(roi[i + axes.rank()]);
      }
    });
  }

  Policy policy_ = Policy::kStretch;
  bool has_axes_;
  std::vector<int64_t> axes_;
};

/// Refuses linear and cubic for element types that no schema version has (float8 and narrower).
std::string refuse_mode(const sdk::NodeView& node) {
  constexpr sdk::DTypeSet kInterpolated =
      sdk::kNumbers | sdk::kComplex | sdk::kBool | sdk::kString | sdk::dtype_bit(GANTRY_UNDEFINED);
  const std::string mode = node.get_string("mode", "nearest");
  if (mode == "nearest" || (sdk::dtype_bit(node.input(0).dtype()) & kInterpolated) != 0) return {};
  return "mode \"" + mode + "\" needs an input of numbers, truth values or strings";
}

constexpr sdk::KernelRow kResizeRows[] = {
    {"Upsample", 1, 8, sdk::kFixedSize | sdk::kString, sdk::make<Upsample>, {}, refuse_mode},
    {"Upsample",
     9,
     10,
     sdk::kFixedSize | sdk::kString,
     sdk::make<Upsample>,
     {.signature_inputs = 0b10},
     refuse_mode},
    {"Resize",
     10,
     10,
     sdk::kFixedSize | sdk::kString,
     sdk::make<Resize10>,
     {.signature_inputs = 0b10},
     refuse_mode},
    {"Resize",
     11,
     sdk::kLatest,
     sdk::kFixedSize | sdk::kString,
     sdk::make<Resize>,
     {.signature_inputs = 0b1110},
     refuse_mode},
};

}  // namespace

sdk::KernelTable resize_kernels() { return sdk::table(kResizeRows); }

}  // namespace gantry::cpu
