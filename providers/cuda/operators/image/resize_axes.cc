// SPDX-License-Identifier: Apache-2.0
#include "operators/image/resize_axes.h"

#include <gantry/sdk/bits.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gantry::cuda {
namespace {

using sdk::NodeView;

// Index in the kernels' enumeration.
constexpr const char* kTransforms[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
constexpr int kAsymmetric = 4;
constexpr int kCrop = 6;

int transform_of(const NodeView& node) {
  if (node.since_version() <= 10) return kAsymmetric;
  const std::string name = node.get_string("coordinate_transformation_mode", "half_pixel");
  const auto* const found = std::find(std::begin(kTransforms), std::end(kTransforms), name);
  return found == std::end(kTransforms) ? -1 : static_cast<int>(found - std::begin(kTransforms));
}

std::vector<float> scales_attribute(const NodeView& node) {
  if (node.op_type() == "Upsample" && node.since_version() == 1)
    return {1, 1, node.get_float("height_scale", 1), node.get_float("width_scale", 1)};
  return node.get_floats("scales");
}

}  // namespace

ResizeRule::ResizeRule(const NodeView& node)
    : transform_(transform_of(node)),
      is_of_all_(!node.has("axes")),
      axes_(node.get_ints("axes")),
      scales_(scales_attribute(node)),
      scales_slot_(node.since_version() > 10 ? 2 : 1) {
  const std::string policy = node.get_string("keep_aspect_ratio_policy", "stretch");
  policy_ = policy == "not_larger"    ? Policy::kNotLarger
            : policy == "not_smaller" ? Policy::kNotSmaller
                                      : Policy::kStretch;
}

std::vector<float> ResizeRule::scales_of(const Planner& planner) const {
  if (!scales_.empty() || !planner.has_input(scales_slot_)) return scales_;
  const InputMetadata& input = planner.input(scales_slot_);
  const auto* scales = static_cast<const float*>(input.host_data);
  return {scales, scales + input.element_count()};
}

void ResizeRule::set_scale(ResizeAxis& axis, float scale) const {
  if (!(scale > 0) || !(scale < 1e18F)) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     "a scale is " + std::to_string(scale) + ", expected a positive number");
  }
  axis.scale = scale;
  axis.exact_out = static_cast<float>(axis.in) * scale;
  axis.out = static_cast<int64_t>(std::floor(axis.exact_out));
}

void ResizeRule::set_sizes(const Extents& sizes, const std::vector<ResizeAxis*>& axes) const {
  double common = policy_ == Policy::kNotLarger ? std::numeric_limits<double>::infinity() : 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = *axes[i];
    if (sizes[i] < 0) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "a size is " + std::to_string(sizes[i]) + ", expected none below 0");
    }
    const double scale = axis.in == 0 ? 1.0 : static_cast<double>(sizes[i]) / axis.in;
    axis.out = sizes[i];
    axis.exact_out = static_cast<float>(sizes[i]);
    axis.scale = static_cast<float>(scale);
    common = policy_ == Policy::kNotLarger ? std::min(common, scale) : std::max(common, scale);
  }
  if (policy_ == Policy::kStretch) return;
  for (ResizeAxis* axis : axes) {
    const double exact = common * static_cast<double>(axis->in);
    axis->out = static_cast<int64_t>(std::floor(exact + 0.5));
    axis->exact_out = static_cast<float>(exact);
    axis->scale = static_cast<float>(common);
  }
}

void ResizeRule::set_region(const Planner& planner, const std::vector<ResizeAxis*>& axes) const {
  const auto count = static_cast<int64_t>(axes.size());
  if (!planner.has_input(1) || planner.input(1).element_count() != 2 * count) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the part to be resized has not " +
                                                  std::to_string(2 * count) +
                                                  " numbers, two for each axis");
  }
  const InputMetadata& region = planner.input(1);
  const auto number = [&](int64_t i) {
    const auto* bytes = static_cast<const std::byte*>(region.host_data);
    return static_cast<float>(number_at(region.dtype, bytes + i * bytes_of(region.dtype)));
  };
  for (int64_t i = 0; i < count; ++i) {
    axes[static_cast<size_t>(i)]->begin = number(i);
    axes[static_cast<size_t>(i)]->end = number(i + count);
  }
}

std::vector<ResizeAxis> ResizeRule::axes(const Planner& planner) const {
  const Extents& shape = planner.shape(0);
  std::vector<ResizeAxis> all(shape.size(), ResizeAxis{});
  for (size_t i = 0; i < shape.size(); ++i) {
    all[i].in = all[i].out = shape[i];
    all[i].scale = 1;
    all[i].exact_out = static_cast<float>(shape[i]);
    all[i].end = 1;
  }
  Extents numbers = axes_;
  if (is_of_all_) {
    numbers.resize(shape.size());
    std::iota(numbers.begin(), numbers.end(), 0);
  }
  std::vector<ResizeAxis*> named;
  named.reserve(numbers.size());
  for (const int64_t axis : numbers) {
    const int64_t number = checked_axis(axis, static_cast<int64_t>(shape.size()), "an axis");
    named.push_back(&all[static_cast<size_t>(number)]);
  }
  const std::vector<float> scales = scales_of(planner);
  const Extents sizes =
      scales.empty() && planner.has_input(3) ? planner.host_integers(3) : Extents();
  const size_t given = scales.empty() ? sizes.size() : scales.size();
  if (given != named.size()) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, std::to_string(given) + " scales or sizes for " +
                                                  std::to_string(named.size()) + " axes");
  }
  for (size_t i = 0; i < scales.size(); ++i) set_scale(*named[i], scales[i]);
  if (scales.empty()) set_sizes(sizes, named);
  if (transform_ == kCrop) set_region(planner, named);
  for (ResizeAxis* axis : named) {
    const bool is_whole = axis->begin == 0 && axis->end == 1;
    axis->is_resized = axis->in != axis->out || axis->scale != 1 || !is_whole ? 1 : 0;
  }
  return all;
}

}  // namespace gantry::cuda
