// SPDX-License-Identifier: Apache-2.0
// The scales and zero points of a fusion as the library takes them: masks in a primitive's
// attributes, numbers among its arguments. All scales are in those of the weights, by channel.
#pragma once

#include <vector>

#include "fuse/fusion.h"
#include "onednn/plan.h"

namespace gantry::x86 {

class Rescaling {
 public:
  Rescaling() = default;
  /// `weights_mask`: dimensions of the weights along which they have a scale for each index.
  Rescaling(const Fusion& fusion, int weights_mask);

  void describe(dnnl::primitive_attr& attr) const;
  void bind(Launch& launch) const;
  [[nodiscard]] bool has_source_zero_point() const;
  /// What the sums of products are multiplied by, for each channel.
  [[nodiscard]] const std::vector<float>& scales() const { return scales_; }
  /// The bias in the measure of the primitive's results.
  [[nodiscard]] std::vector<float> bias_of(std::vector<float> bias) const;

 private:
  struct ZeroPoint {
    int argument;  // DNNL_ARG_...
    dnnl::memory number;
  };
  void add_zero_point(int argument, int32_t number);

  float measure_ = 1;
  int weights_mask_ = 0;
  std::vector<float> scales_;  // none: the fusion works on floats
  dnnl::memory scales_memory_;
  std::vector<ZeroPoint> zero_points_;
};

}  // namespace gantry::x86
