// SPDX-License-Identifier: Apache-2.0
#include "epilogue.h"

namespace gantry::onednn {

Epilogue::Epilogue(const Unit& unit, const Desc& addend, bool in_place) {
  const auto add = [&] {
    addend_argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1;
    ops.append_binary(dnnl::algorithm::binary_add, addend);
  };
  for (const EpilogueStep& step : unit.chain.steps) {
    if (step.activation) {
      ops.append_eltwise(step.activation->algorithm, step.activation->alpha, step.activation->beta);
    } else if (in_place) {
      ops.append_sum(1);
    } else if (unit.addend.quantization) {
      // The library adds the stored numbers as they are: the sum is taken in their scale.
      const auto& [type, scale, zero_point] = *unit.addend.quantization;
      ops.append_eltwise(dnnl::algorithm::eltwise_linear, 1 / scale,
                         -static_cast<float>(zero_point));
      add();
      ops.append_eltwise(dnnl::algorithm::eltwise_linear, scale, 0);
    } else {
      add();
    }
  }
}

}  // namespace gantry::onednn
