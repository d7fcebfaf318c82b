// SPDX-License-Identifier: Apache-2.0
// The scales and zero points of a unit as the library takes them: masks in a primitive's
// attributes, numbers among its arguments.
#pragma once

#include <utility>
#include <vector>

#include "plan.h"
#include "unit.h"

namespace gantry::onednn {

class Rescaling {
 public:
  Rescaling() = default;
  /// `weights_mask`: dimensions of the weights along which they have a scale for each index.
  Rescaling(const Unit& unit, int weights_mask);

  void describe(dnnl::primitive_attr& attr) const;
  void bind(Launch& launch) const;

 private:
  struct Argument {
    int number;  // DNNL_ARG_...
    int mask;
    bool is_scale;
    dnnl::memory numbers;
  };
  void add_scales(int number, int mask, const std::vector<float>& scales);
  void add(int number, const Quantization& quantization);

  std::vector<Argument> arguments_;
};

}  // namespace gantry::onednn
