// SPDX-License-Identifier: Apache-2.0
// What the attributes and inputs of a Resize or an Upsample say of each axis.
#pragma once

#include <string>
#include <vector>

#include "../kernels/resize.h"
#include "operators.h"

namespace gantry::cuda {

/// The part of the attributes that extents follow from. Immutable; any thread.
class ResizeRule {
 public:
  explicit ResizeRule(const sdk::NodeView& node);

  /// Each axis of input 0. INVALID_ARGUMENT: what is given does not fit it.
  [[nodiscard]] std::vector<ResizeAxis> axes(const Planner& planner) const;

  /// Number of the coordinate transformation in the kernels' text; -1: it is not known.
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
