// SPDX-License-Identifier: Apache-2.0
#include "epilogue.h"

namespace gantry::onednn {

Epilogue::Epilogue(const Unit& unit, const Desc& addend, bool in_place) {
  append_steps(unit, addend, in_place);
  flush();
}

void Epilogue::append_steps(const Unit& unit, const Desc& addend, bool in_place) {
  for (const EpilogueStep& step : unit.chain.steps) {
    if (step.activation) {
      flush();
      ops.append_eltwise(step.activation->algorithm, step.activation->alpha, step.activation->beta);
    } else if (step.rounding) {
      const auto& [type, scale, zero_point] = *step.rounding;
      const int low = type == Type::u8 ? 0 : -128;
      const auto first = static_cast<float>(low - zero_point);
      append_linear(1 / scale, 0);
      flush();
      ops.append_eltwise(dnnl::algorithm::eltwise_round, 0, 0);
      ops.append_eltwise(dnnl::algorithm::eltwise_clip, first, first + 255);
      append_linear(scale, 0);
    } else {
      append_addend(unit, addend, in_place);
    }
  }
}

void Epilogue::append_addend(const Unit& unit, const Desc& addend, bool in_place) {
  const auto& quantization = unit.addend.quantization;
  // The library adds stored numbers as they are: the sum is taken in their scale.
  if (quantization)
    append_linear(1 / quantization->scale, -static_cast<float>(quantization->zero_point));
  flush();
  if (in_place) {
    ops.append_sum(1);
  } else {
    addend_argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1;
    ops.append_binary(dnnl::algorithm::binary_add, addend);
  }
  if (quantization) append_linear(quantization->scale, 0);
}

void Epilogue::append_linear(float factor, float shift) {
  factor_ *= factor;
  shift_ = shift_ * factor + shift;
}

void Epilogue::flush() {
  if (factor_ != 1 || shift_ != 0)
    ops.append_eltwise(dnnl::algorithm::eltwise_linear, factor_, shift_);
  factor_ = 1;
  shift_ = 0;
}

}  // namespace gantry::onednn
