// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample. Nearest moves elements of any type by one table per axis; linear and cubic make one pass per resized
// axis, in float, or in double where float could not hold the elements.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "elements.h"
#include "kernels/all_kernels.h"
#include "node_kernel.h"
#include "resize_axis.h"

namespace gantry::cpu {

namespace {

constexpr int64_t kGrainBytes = 64 * 1024;
/// In a table of kNearest: no input position, the extrapolation value.
constexpr int64_t kOutside = -1;

/// The axes of one run, of rank at most kMaxRank.
struct ResizePlan {
  int rank = 0;
  ResizeAxis axes[kMaxRank];

  [[nodiscard]] Dims output() const {
    Dims shape;
    for (int i = 0; i < rank; ++i) shape.push(axes[i].output);
    return shape;
  }
};

/// Table of one axis: offset in the input of each output position, or kOutside.
void set_nearest_table(const ResizeRule& rule, const ResizeAxis& axis, int64_t stride, int64_t* table) {
  const bool is_identity = axis.is_identity(rule.transform);
  for (int64_t k = 0; k < axis.output; ++k) {
    const float coordinate = is_identity ? static_cast<float>(k) : source_coordinate(rule, axis, k);
    const int64_t source = is_identity ? k : nearest_source(rule, axis, coordinate);
    table[k] = !is_identity && is_extrapolated(rule, axis, coordinate) ? kOutside : source * stride;
  }
}

/// Neighbouring axes that are not resized become one.
ResizePlan merged(const ResizePlan& plan, Transform transform) {
  ResizePlan result;
  bool previous_is_identity = false;
  for (int i = 0; i < plan.rank; ++i) {
    const bool is_identity = plan.axes[i].is_identity(transform);
    if (is_identity && previous_is_identity) {
      result.axes[result.rank - 1].input *= plan.axes[i].input;
      result.axes[result.rank - 1].output *= plan.axes[i].output;
    } else {
      result.axes[result.rank++] = plan.axes[i];
    }
    previous_is_identity = is_identity;
  }
  if (result.rank == 0) result.rank = 1;
  return result;
}

template <class U>
void resize_nearest(sdk::Call& call, const ResizeRule& rule, const ResizePlan& plan, const U* source, U fill,
                    U* target) {
  Dims input;
  int64_t table_length = 0;
  for (int i = 0; i < plan.rank; ++i) {
    input.push(plan.axes[i].input);
    table_length += plan.axes[i].output;
  }
  const int last = plan.rank - 1;
  const int64_t row = plan.axes[last].output;
  const bool copies_rows = plan.axes[last].is_identity(rule.transform);
  if (copies_rows) table_length -= row;
  const Dims strides = dense_strides(input.shape());
  const int64_t* tables[kMaxRank];
  auto* table = call.scratch<int64_t>(table_length);
  for (int i = 0; i < (copies_rows ? last : plan.rank); ++i) {
    set_nearest_table(rule, plan.axes[i], strides[i], table);
    tables[i] = table;
    table += plan.axes[i].output;
  }
  const int64_t rows = plan.output().shape().count(0, last);
  const int64_t grain = std::max<int64_t>(1, kGrainBytes / (row * static_cast<int64_t>(sizeof(U))));
  call.parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      U* out = target + i * row;
      int64_t offset = 0;
      bool is_outside = false;
      for (int64_t axis = last - 1, rest = i; axis >= 0; --axis) {
        const int64_t place = tables[axis][rest % plan.axes[axis].output];
        rest /= plan.axes[axis].output;
        is_outside |= place == kOutside;
        offset += place;
      }
      const U* in = source + offset;
      if (is_outside) {
        std::fill_n(out, row, fill);
      } else if (copies_rows) {
        std::memcpy(out, in, static_cast<size_t>(row) * sizeof(U));
      } else if (rule.transform == Transform::kCrop) {
        for (int64_t k = 0; k < row; ++k) out[k] = tables[last][k] == kOutside ? fill : in[tables[last][k]];
      } else {
        for (int64_t k = 0; k < row; ++k) out[k] = in[tables[last][k]];
      }
    }
  });
}

/// Weights of one axis.
template <class C>
struct Taps {
  int64_t count;
  const int64_t* sources;
  const C* weights;
  const bool* is_outside;

  Taps(sdk::Call& call, const ResizeRule& rule, const ResizeAxis& axis) : count(tap_count(rule, axis)) {
    auto* all_sources = call.scratch<int64_t>(axis.output * count);
    auto* all_weights = call.scratch<C>(axis.output * count);
    auto* outside = call.scratch<bool>(axis.output);
    auto* exact = call.scratch<double>(count);
    for (int64_t k = 0; k < axis.output; ++k) {
      const float coordinate = source_coordinate(rule, axis, k);
      set_taps(rule, axis, coordinate, count, all_sources + k * count, exact);
      std::copy_n(exact, count, all_weights + k * count);
      outside[k] = is_extrapolated(rule, axis, coordinate);
    }
    sources = all_sources;
    weights = all_weights;
    is_outside = outside;
  }
};

/// One pass: [outer, axis.input, inner] to [outer, axis.output, inner].
template <class C>
void interpolate(sdk::Call& call, const ResizeRule& rule, const ResizeAxis& axis, int64_t outer, int64_t inner,
                 const C* source, C* target) {
  const Taps<C> taps(call, rule, axis);
  const auto fill = static_cast<C>(rule.extrapolation);
  const auto row_work = inner * taps.count * static_cast<int64_t>(sizeof(C));
  call.parallel_for(outer * axis.output, std::max<int64_t>(1, kGrainBytes / row_work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t k = i % axis.output;
      const C* in = source + i / axis.output * axis.input * inner;
      const int64_t* sources = taps.sources + k * taps.count;
      const C* weights = taps.weights + k * taps.count;
      C* out = target + i * inner;
      if (taps.is_outside[k]) {
        std::fill_n(out, inner, fill);
      } else if (inner == 1) {
        C sum = 0;
        for (int64_t t = 0; t < taps.count; ++t) sum += weights[t] * in[sources[t]];
        *out = sum;
      } else if (taps.count == 2) {
        const C* a = in + sources[0] * inner;
        const C* b = in + sources[1] * inner;
        for (int64_t x = 0; x < inner; ++x) out[x] = weights[0] * a[x] + weights[1] * b[x];
      } else {
        std::fill_n(out, inner, C(0));
        for (int64_t t = 0; t < taps.count; ++t) {
          const C* a = in + sources[t] * inner;
          for (int64_t x = 0; x < inner; ++x) out[x] += weights[t] * a[x];
        }
      }
    }
  });
}

template <class T, class C>
T to_element(C value) {
  if constexpr (std::is_integral_v<T>) {
    // Rounds to nearest even and saturates.
    const C rounded = std::nearbyint(value);
    if (!(rounded > static_cast<C>(std::numeric_limits<T>::min()))) return std::numeric_limits<T>::min();
    if (rounded >= static_cast<C>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(rounded);
  } else {
    return static_cast<T>(value);
  }
}

/// Linear and cubic. Elements of 32 bits and more that are not float are computed in double.
template <class T>
void resize_smooth(sdk::Call& call, const ResizeRule& rule, const ResizePlan& plan, const T* source, T* target) {
  using C = std::conditional_t<std::is_same_v<T, float> || sizeof(T) < 4, float, double>;
  Dims shape;
  for (int i = 0; i < plan.rank; ++i) shape.push(plan.axes[i].input);
  int passes_left = 0;
  for (int i = 0; i < plan.rank; ++i) passes_left += plan.axes[i].is_identity(rule.transform) ? 0 : 1;
  int64_t count = shape.shape().element_count();
  const C* from = nullptr;
  if constexpr (std::is_same_v<T, C>) {
    from = source;
  } else {
    auto* wide = call.scratch<C>(count);
    for (int64_t i = 0; i < count; ++i) wide[i] = static_cast<C>(static_cast<Compute<T>>(source[i]));
    from = wide;
  }
  for (int i = 0; i < plan.rank; ++i) {
    if (plan.axes[i].is_identity(rule.transform)) continue;
    const int64_t outer = shape.shape().count(0, i);
    const int64_t inner = shape.shape().count(i + 1, plan.rank);
    count = outer * plan.axes[i].output * inner;
    C* to = nullptr;
    if constexpr (std::is_same_v<T, C>) to = --passes_left == 0 ? target : nullptr;
    if (!to) to = call.scratch<C>(count);
    interpolate(call, rule, plan.axes[i], outer, inner, from, to);
    shape[i] = plan.axes[i].output;
    from = to;
  }
  if constexpr (std::is_same_v<T, C>) {
    if (from != target) std::copy_n(from, count, target);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i] = to_element<T>(from[i]);
  }
}

/// What Resize and Upsample share: the run, once the extents of all axes are known.
class ResizeKernel : public NodeKernel {
 protected:
  explicit ResizeKernel(const sdk::NodeView& node) : NodeKernel(node) {
    const std::string mode = node.get_string("mode", "nearest");
    if (mode == "linear" || mode == "bilinear") {
      rule_.mode = ResizeMode::kLinear;
    } else if (mode == "cubic") {
      rule_.mode = ResizeMode::kCubic;
    } else if (mode != "nearest") {
      node.fail(GANTRY_INVALID_MODEL, "mode \"" + mode + "\" is none of nearest, linear and cubic");
    }
  }

  /// Axes as they are, to be changed where the node resizes.
  [[nodiscard]] ResizePlan whole(sdk::Call& call) const {
    ResizePlan plan;
    const sdk::Shape input = call.shape(0);
    check_rank(input.rank, label());
    plan.rank = input.rank;
    for (int i = 0; i < input.rank; ++i) {
      plan.axes[i].input = plan.axes[i].output = input[i];
      plan.axes[i].exact_output = static_cast<float>(input[i]);
    }
    return plan;
  }

  void set_scale(ResizeAxis& axis, float scale) const {
    if (!(scale > 0) || std::isinf(scale)) fail("a scale is " + std::to_string(scale) + ", needs a positive number");
    axis.scale = scale;
    axis.exact_output = static_cast<float>(axis.input) * scale;
    if (!(axis.exact_output < 9e18F)) fail("a scale of " + std::to_string(scale) + " is too large");
    axis.output = static_cast<int64_t>(std::floor(axis.exact_output));
  }
  [[nodiscard]] const float* scales_input(sdk::Call& call, int slot, int64_t count) const {
    if (call.shape(slot).element_count() != count || call.input(slot).dtype != GANTRY_FLOAT) {
      fail("input " + std::to_string(slot) + " has " + std::to_string(call.shape(slot).element_count()) +
           " scales, needs " + std::to_string(count));
    }
    return call.data<float>(slot);
  }

  void resize(sdk::Call& call, const ResizePlan& plan) const {
    const uint32_t dtype = call.input(0).dtype;
    const Dims shape = plan.output();
    const int64_t count = count_of(shape.shape());
    if (count > 0 && call.shape(0).element_count() == 0) fail("an input without elements cannot be enlarged");
    if (rule_.mode == ResizeMode::kNearest) return nearest(call, plan, shape, count);
    dispatch<NumberTypes>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* target = static_cast<T*>(call.output(0, dtype, shape.shape()).data);
      if (count > 0) resize_smooth<T>(call, rule_, merged(plan, rule_.transform), call.data<T>(0), target);
    });
  }

  ResizeRule rule_;

 private:
  void nearest(sdk::Call& call, const ResizePlan& plan, const Dims& shape, int64_t count) const {
    const uint32_t dtype = call.input(0).dtype;
    UnitWriter output(call, 0, dtype, shape.shape());
    if (count > 0) {
      const std::byte* source = read_units(call, 0);
      dispatch_unit(dtype, [&](auto type) {
        using U = typename decltype(type)::type;
        U fill = {};
        set_fill(dtype, &fill);
        resize_nearest<U>(call, rule_, merged(plan, rule_.transform), reinterpret_cast<const U*>(source), fill,
                          output.as<U>());
      });
    }
    output.finish();
  }

  /// The extrapolation value as a unit; zero for types that are no numbers.
  void set_fill(uint32_t dtype, void* unit) const {
    if (!(sdk::dtype_bit(dtype) & sdk::kNumbers)) return;
    dispatch<NumberTypes>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const T value = to_element<T>(rule_.extrapolation);
      std::memcpy(unit, &value, sizeof(T));
    });
  }
};

/// Opset 1 to 10: scales are attributes or input 1. Positions start at the outer edge and are rounded down.
class Upsample final : public ResizeKernel {
 public:
  explicit Upsample(const sdk::NodeView& node) : ResizeKernel(node) {
    has_input_ = node.since_version() >= 9;
    scales_ = node.get_floats("scales");
    if (node.since_version() < 7) scales_ = {1, 1, node.get_float("height_scale", 1), node.get_float("width_scale", 1)};
  }
  void run(sdk::Call& call) const override {
    ResizePlan plan = whole(call);
    if (!has_input_ && scales_.size() != static_cast<size_t>(plan.rank)) {
      fail(std::to_string(scales_.size()) + " scales are given for a tensor of rank " + std::to_string(plan.rank));
    }
    const float* scales = has_input_ ? scales_input(call, 1, plan.rank) : scales_.data();
    for (int i = 0; i < plan.rank; ++i) set_scale(plan.axes[i], scales[i]);
    resize(call, plan);
  }

 private:
  bool has_input_;
  std::vector<float> scales_;
};

/// Opset 10: as Upsample, but it also shrinks.
class Resize10 final : public ResizeKernel {
 public:
  explicit Resize10(const sdk::NodeView& node) : ResizeKernel(node) { rule_.nearest = NearestRule::kOpset10; }
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
    rule_.transform = parse_transform(node);
    rule_.nearest = parse_nearest(node);
    rule_.cubic_a = node.get_float("cubic_coeff_a", -0.75F);
    rule_.extrapolation = node.get_float("extrapolation_value", 0);
    rule_.excludes_outside = node.get_int("exclude_outside", 0) != 0;
    rule_.antialias = node.get_int("antialias", 0) != 0 && rule_.mode != ResizeMode::kNearest;
    const std::string policy = node.get_string("keep_aspect_ratio_policy", "stretch");
    if (policy == "not_larger") {
      policy_ = Policy::kNotLarger;
    } else if (policy == "not_smaller") {
      policy_ = Policy::kNotSmaller;
    } else if (policy != "stretch") {
      node.fail(GANTRY_INVALID_MODEL, "keep_aspect_ratio_policy \"" + policy + "\" is not known");
    }
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

  static Transform parse_transform(const sdk::NodeView& node) {
    const std::string name = node.get_string("coordinate_transformation_mode", "half_pixel");
    if (name == "half_pixel") return Transform::kHalfPixel;
    if (name == "half_pixel_symmetric") return Transform::kHalfPixelSymmetric;
    if (name == "pytorch_half_pixel") return Transform::kPytorchHalfPixel;
    if (name == "align_corners") return Transform::kAlignCorners;
    if (name == "asymmetric") return Transform::kAsymmetric;
    if (name == "tf_crop_and_resize") return Transform::kCrop;
    if (name == "tf_half_pixel_for_nn") return Transform::kHalfPixelUnshifted;
    node.fail(GANTRY_INVALID_MODEL, "coordinate_transformation_mode \"" + name + "\" is not known");
  }
  static NearestRule parse_nearest(const sdk::NodeView& node) {
    const std::string name = node.get_string("nearest_mode", "round_prefer_floor");
    if (name == "round_prefer_floor") return NearestRule::kPreferFloor;
    if (name == "round_prefer_ceil") return NearestRule::kPreferCeil;
    if (name == "floor") return NearestRule::kFloor;
    if (name == "ceil") return NearestRule::kCeil;
    node.fail(GANTRY_INVALID_MODEL, "nearest_mode \"" + name + "\" is not known");
  }

  void set_sizes(sdk::Call& call, const Dims& axes, ResizePlan& plan) const {
    const Dims sizes = read_ints(call, 3);
    if (sizes.rank() != axes.rank()) {
      fail(std::to_string(sizes.rank()) + " sizes are given for " + std::to_string(axes.rank()) + " axes");
    }
    double common = policy_ == Policy::kNotLarger ? std::numeric_limits<double>::infinity() : 0;
    for (int i = 0; i < axes.rank(); ++i) {
      ResizeAxis& axis = plan.axes[axes[i]];
      if (sizes[i] < 0) fail("a size is " + std::to_string(sizes[i]));
      if (axis.input == 0 && sizes[i] > 0) fail("an input without elements cannot be enlarged");
      axis.output = sizes[i];
      axis.exact_output = static_cast<float>(sizes[i]);
      axis.scale = axis.input == 0 ? 1 : static_cast<float>(sizes[i]) / static_cast<float>(axis.input);
      const double scale = axis.input == 0 ? 1 : static_cast<double>(sizes[i]) / static_cast<double>(axis.input);
      common = policy_ == Policy::kNotLarger ? std::min(common, scale) : std::max(common, scale);
    }
    if (policy_ == Policy::kStretch) return;
    for (int i = 0; i < axes.rank(); ++i) {
      ResizeAxis& axis = plan.axes[axes[i]];
      const double exact = common * static_cast<double>(axis.input);
      if (!(exact < 9e18)) fail("the sizes that keep the aspect ratio are too large");
      axis.output = static_cast<int64_t>(exact + 0.5);
      axis.exact_output = static_cast<float>(exact);
      axis.scale = static_cast<float>(common);
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

/// Element types beyond numbers are moved, not interpolated.
std::string refuse_mode(const sdk::NodeView& node) {
  const bool is_number = (sdk::dtype_bit(node.input(0).dtype()) & (sdk::kNumbers | sdk::dtype_bit(GANTRY_UNDEFINED))) != 0;
  const std::string mode = node.get_string("mode", "nearest");
  return is_number || mode == "nearest" ? std::string() : "mode \"" + mode + "\" needs an input of numbers";
}

constexpr sdk::KernelRow kResizeRows[] = {
    {"Upsample", 1, 8, sdk::kFixedSize | sdk::kString, sdk::make<Upsample>, {}, refuse_mode},
    {"Upsample", 9, 10, sdk::kFixedSize | sdk::kString, sdk::make<Upsample>, {.signature_inputs = 0b10}, refuse_mode},
    {"Resize", 10, 10, sdk::kFixedSize | sdk::kString, sdk::make<Resize10>, {.signature_inputs = 0b10}, refuse_mode},
    {"Resize", 11, sdk::kLatest, sdk::kFixedSize | sdk::kString, sdk::make<Resize>, {.signature_inputs = 0b1110},
     refuse_mode},
};

}  // namespace

sdk::KernelTable resize_kernels() { return sdk::table(kResizeRows); }

}  // namespace gantry::cpu
