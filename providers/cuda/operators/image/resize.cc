// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: nearest, linear and cubic, along any axes.
#include "kernels/image/resize.h"

#include <algorithm>
#include <cmath>

#include "compile/kernel_texts.h"
#include "operators/image/resize_axes.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

// Index in the kernel's enumeration. Upsample rounds down, as does the first version of Resize when
// it enlarges.
constexpr const char* kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
constexpr int kFloor = 2;
constexpr int kFloorIfEnlarged = 4;

int nearest_of(const NodeView& node) {
  if (node.op_type() == "Upsample") return kFloor;
  if (node.since_version() <= 10) return kFloorIfEnlarged;
  const std::string name = node.get_string("nearest_mode", "round_prefer_floor");
  const auto* const found = std::find(std::begin(kNearest), std::end(kNearest), name);
  return found == std::end(kNearest) ? -1 : static_cast<int>(found - std::begin(kNearest));
}

// Taps per axis of the interpolation mode; 0: unknown mode.
int taps_of(const std::string& mode) {
  if (mode == "nearest") return 1;
  if (mode == "linear" || mode == "bilinear") return 2;
  return mode == "cubic" ? 4 : 0;
}

std::string define(const char* name, int64_t value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}

class Resize final : public Operation {
 public:
  explicit Resize(const NodeView& node)
      : rule_(node),
        taps_(taps_of(node.get_string("mode", "nearest"))),
        nearest_(nearest_of(node)),
        cubic_a_(node.get_float("cubic_coeff_a", -0.75F)),
        outside_(node.get_float("extrapolation_value", 0)),
        antialiases_(taps_ > 1 && node.get_int("antialias", 0) != 0),
        excludes_outside_(taps_ > 1 && node.get_int("exclude_outside", 0) != 0) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    if (x.shape.empty() || x.shape.size() > MOST_AXES)
      throw sdk::Error(GANTRY_UNSUPPORTED, "resizing of the shape " + text_of(x.shape));
    const std::vector<ResizeAxis> axes = rule_.axes(planner);
    Extents shape;
    for (const ResizeAxis& axis : axes) shape.push_back(axis.out);
    const Buffer y = planner.output(0, x.dtype, shape);
    if (count_of(shape) == 0) return;
    if (x.element_count() == 0)
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "an input without elements cannot be enlarged");
    const bool is_changed = std::any_of(axes.begin(), axes.end(),
                                        [](const auto& axis) { return axis.is_resized != 0; });
    if ((antialiases_ || excludes_outside_) && is_changed) {
      plan_passes(planner, axes, y);
    } else {
      plan_whole(planner, axes, shape, y);
    }
  }

 private:
  [[nodiscard]] bool is_float(const Planner& planner) const {
    return (sdk::dtype_bit(planner.input(0).dtype) & sdk::kFloats) != 0;
  }
  // The compute type: a float type that represents the elements, if they are interpolated.
  [[nodiscard]] std::string computed(const Planner& planner) const {
    const uint32_t dtype = planner.input(0).dtype;
    if (taps_ == 1 || is_float(planner)) return computed_name(dtype);
    return bytes_of(dtype) < 4 ? "float" : "double";
  }
  [[nodiscard]] double outside(const Planner& planner) const {
    return is_float(planner) ? outside_ : std::nearbyint(outside_);
  }
  // Definitions for both kernels. `result`: type of the pass's result.
  [[nodiscard]] std::string body(const Planner& planner, int64_t count, const std::string& result,
                                 bool rounds) const {
    return std::string("\ntypedef ") + index_type(count < int64_t{1} << 31) + " Index;\ntypedef " +
           result + " T;\ntypedef " + computed(planner) + " C;\n" +
           define("TRANSFORM", rule_.transform()) + define("ROUNDS", rounds ? 1 : 0) +
           std::string(kernel_text("resize_position.cu"));
  }

  // All axes in one pass: each result reads all combinations of taps.
  void plan_whole(Planner& planner, const std::vector<ResizeAxis>& axes, const Extents& shape,
                  const Buffer& y) const {
    const InputMetadata& x = planner.input(0);
    ResizeParameters p = {};
    p.count = count_of(shape);
    p.cubic_a = cubic_a_;
    p.outside = outside(planner);
    std::copy(axes.begin(), axes.end(), p.axes);
    Walk walk{shape, {dense_strides(x.shape)}};
    walk.write_extents(p.extents);
    walk.write_strides(0, p.strides);
    const std::string text =
        body(planner, p.count, type_name(x.dtype), taps_ > 1 && !is_float(planner)) +
        define("RANK", static_cast<int64_t>(shape.size())) + define("TAPS", taps_) +
        define("NEAREST", nearest_) + std::string(kernel_text("resize.cu"));
    planner.launch(kernel_source({"index.h", "index.cu", "resize.h"}, text),
                   blocks_for(planner, p.count), kThreads, p,
                   {{&p.result, y}, {&p.source, Planner::in(0)}});
  }

  // One axis per pass, shrinking axes first; intermediate results are not rounded.
  void plan_passes(Planner& planner, const std::vector<ResizeAxis>& axes, const Buffer& y) const {
    const InputMetadata& x = planner.input(0);
    std::vector<size_t> order;
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      if (axes[axis].is_resized) order.push_back(axis);
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return axes[a].out * axes[b].in < axes[b].out * axes[a].in;
    });
    Extents shape = x.shape;
    Buffer from = Planner::in(0);
    for (const size_t axis : order) {
      shape[axis] = axes[axis].out;
      const bool is_last = axis == order.back();
      const auto bytes = static_cast<uint64_t>(count_of(shape)) * sizeof(double);
      const Buffer to = is_last ? y : planner.scratch(bytes);
      plan_pass(planner, axes[axis], {shape, axis, axis == order.front(), is_last}, from, to);
      from = to;
    }
  }

  struct Pass {
    Extents shape;  // of the result
    size_t axis;
    bool is_first;
    bool is_last;
  };

  void plan_pass(Planner& planner, const ResizeAxis& axis, const Pass& pass, const Buffer& from,
                 const Buffer& to) const {
    ResizePassParameters p = {};
    p.count = count_of(pass.shape);
    p.out = divisor_of(axis.out);
    p.inner = divisor_of(count_of(pass.shape, pass.axis + 1, pass.shape.size()));
    p.axis = axis;
    p.cubic_a = cubic_a_;
    p.outside = outside(planner);
    p.stretch = antialiases_ ? std::min(1.0, static_cast<double>(axis.scale)) : 1.0;
    const double radius = taps_ == 2 ? 1 : 2;
    p.taps = 2 - 2 * (static_cast<int64_t>(std::floor(-radius / p.stretch)) + 1);
    const std::string dtype = type_name(planner.input(0).dtype);
    const std::string between = computed(planner);
    const std::string text =
        body(planner, p.count, pass.is_last ? dtype : between, pass.is_last && !is_float(planner)) +
        "typedef " + (pass.is_first ? dtype : between) + " S;\n" +
        define("CUBIC", taps_ == 4 ? 1 : 0) +
        define("EXCLUDES_OUTSIDE", excludes_outside_ ? 1 : 0) +
        std::string(kernel_text("resize_pass.cu"));
    planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "resize.h"}, text),
                   blocks_for(planner, p.count), kThreads, p, {{&p.result, to}, {&p.source, from}});
  }

  ResizeRule rule_;
  int taps_;
  int nearest_;
  float cubic_a_;
  double outside_;
  bool antialiases_;
  bool excludes_outside_;
};

std::string is_known(const NodeView& node) {
  const std::string mode = node.get_string("mode", "nearest");
  if (taps_of(mode) == 0) return "the mode " + mode + " is not known";
  if (ResizeRule(node).transform() < 0) return "the coordinate transformation is not known";
  if (nearest_of(node) < 0) return "the nearest mode is not known";
  const std::string policy = node.get_string("keep_aspect_ratio_policy", "stretch");
  return policy == "stretch" || policy == "not_larger" || policy == "not_smaller"
             ? ""
             : "the policy " + policy + " is not known";
}

constexpr sdk::KernelRow kRows[] = {
    {"Resize", 10, 10, sdk::kNumbers, make<Resize, 2>, host_marks(2), is_known},
    {"Resize", 11, sdk::kLatest, sdk::kNumbers, make<Resize, 14>, host_marks(14), is_known},
    {"Upsample", 1, 8, sdk::kNumbers, make<Resize>, {}, is_known},
    {"Upsample", 9, 10, sdk::kNumbers, make<Resize, 2>, host_marks(2), is_known},
};

}  // namespace

sdk::KernelTable resize_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
