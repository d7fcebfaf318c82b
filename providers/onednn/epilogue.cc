// SPDX-License-Identifier: Apache-2.0
#include "epilogue.h"

namespace gantry::onednn {

Epilogue::Epilogue(const std::vector<EpilogueStep>& steps, const Desc& desc, bool in_place) {
  for (const EpilogueStep& step : steps) {
    if (step.activation) {
      ops.append_eltwise(step.activation->algorithm, step.activation->alpha, step.activation->beta);
    } else if (in_place) {
      ops.append_sum(1);
    } else {
      addend_argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1;
      ops.append_binary(dnnl::algorithm::binary_add, desc);
    }
  }
}

}  // namespace gantry::onednn
