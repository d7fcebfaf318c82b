// SPDX-License-Identifier: Apache-2.0
// Per-axis scales and extents of a Resize or Upsample node.
#pragma once

#include <string>
#include <vector>

#include "kernels/image/resize.h"
#include "operators/operators.h"

namespace gantry::cuda {

/// The attributes that determine the extents. Immutable; any thread.
class ResizeRule {
 public:
  explicit ResizeRule(const sdk::NodeView& node);

  /// The axes of input 0. INVALID_ARGUMENT: scales or sizes do not fit it.
  [[nodiscard]] std::vector<ResizeAxis> axes(const Planner& planner) const;

  /// The coordinate transformation, as numbered in the kernels; -1: unknown.
  [[nodiscard]] int transform() const { return transform_; }

 private:
  enum class Policy { kStretch, kNotLarger, kNotSmaller };

  [[nodiscard]] std::vector<float> scales_of(const Planner& planner) const;
  void set_scale(ResizeAxis& axis, float scale) const;
  void set_sizes(const Extents& sizes, const std::vector<ResizeAxis*>& axes) const;
  void set_region(const Planner& planner, const std::vector<ResizeAxis*>& axes) const;

  int transform_;
  bool is_of_all_;
  Extents axes_;
  std::vector<float> scales_;  // of the attribute; empty: they are an input
  int scales_slot_;
  Policy policy_;
};

}  // namespace gantry::cuda
