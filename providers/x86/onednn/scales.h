// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of a quantized fusion as oneDNN wants them: masks in a primitive's
// attributes, values among its arguments. All scales are combined in per-channel weight scales.
#pragma once

#include <vector>

#include "fuse/fusion.h"
#include "onednn/plan.h"

namespace gantry::x86 {

/// Does nothing for a fusion that is not quantized. Immutable.
class Rescaling {
 public:
  Rescaling() = default;
  /// `weights_mask`: oneDNN's mask of the weight dimensions that have a scale for each index.
  Rescaling(const Fusion& fusion, int weights_mask);

  /// Sets the masks in the attributes of a primitive.
  void describe(dnnl::primitive_attr& attr) const;
  /// Binds the values to the primitive's arguments.
  void bind(Launch& launch) const;
  [[nodiscard]] bool has_source_zero_point() const;
  /// Factors from the sums of products to result_scale() (post_ops.h), one for each channel.
  [[nodiscard]] const std::vector<float>& scales() const { return scales_; }
  /// The bias in units of result_scale().
  [[nodiscard]] std::vector<float> bias_of(std::vector<float> bias) const;

 private:
  struct ZeroPoint {
    int argument;  // DNNL_ARG_...
    dnnl::memory number;
  };
  void add_zero_point(int argument, int32_t number);

  float measure_ = 1;
  int weights_mask_ = 0;
  std::vector<float> scales_;  // empty: the fusion is not quantized
  dnnl::memory scales_memory_;
  std::vector<ZeroPoint> zero_points_;
};

}  // namespace gantry::x86
