// SPDX-License-Identifier: Apache-2.0
#include "epilogue.h"

namespace gantry::onednn {
namespace {

/// True if f(m * x) = m * f(x) for every m > 0, once bounds are divided by m.
bool is_proportional(const Activation& activation) {
  return activation.algorithm == dnnl::algorithm::eltwise_relu ||
         activation.algorithm == dnnl::algorithm::eltwise_clip;
}

}  // namespace

float measure_before(const Unit& unit, size_t number, bool adds_in_any) {
  if (!unit.is_quantized()) return 1;
  const auto& steps = unit.chain.steps;
  for (; number < steps.size(); ++number) {
    const EpilogueStep& step = steps[number];
    if (step.rounding) return step.rounding->scale;
    if (step.activation) {
      if (!is_proportional(*step.activation)) return 1;
    } else if (!unit.addend.quantization) {
      return 1;
    } else if (!adds_in_any) {
      return unit.addend.quantization->scale;
    }
  }
  return unit.target.quantization ? unit.target.quantization->scale : 1;
}

bool is_done_by_storing(const Unit& unit, size_t number) {
  const auto& activation = unit.chain.steps[number].activation;
  const auto& target = unit.target.quantization;
  if (number + 1 < unit.chain.steps.size() || !activation || !target) return false;
  const int least = target->type == Type::u8 ? 0 : -128;
  const auto lowest = static_cast<float>(least - target->zero_point) * target->scale;
  const auto& [function, alpha, beta] = *activation;
  if (function == dnnl::algorithm::eltwise_relu) return alpha == 0 && lowest == 0;
  return function == dnnl::algorithm::eltwise_clip && alpha <= lowest &&
         beta >= lowest + 255 * target->scale;
}

float measure_of_results(const Unit& unit) { return measure_before(unit, 0, false); }

Epilogue::Epilogue(const Unit& unit, const Desc& addend, bool in_place)
    : measure_(measure_of_results(unit)) {
  for (size_t i = 0; i < unit.chain.steps.size(); ++i) append_step(unit, i, addend, in_place);
  flush();
}

void Epilogue::append_step(const Unit& unit, size_t number, const Desc& addend, bool in_place) {
  const EpilogueStep& step = unit.chain.steps[number];
  if (is_done_by_storing(unit, number)) return;
  if (step.activation) {
    append_activation(*step.activation);
  } else if (step.rounding) {
    append_rounding(*step.rounding);
  } else {
    append_addend(unit, addend, in_place);
  }
  bring_to(measure_before(unit, number + 1, in_place));
}

void Epilogue::append_activation(const Activation& activation) {
  flush();
  const bool is_clip = activation.algorithm == dnnl::algorithm::eltwise_clip;
  const float bound = is_clip ? 1 / measure_ : 1;
  ops.append_eltwise(activation.algorithm, activation.alpha * bound, activation.beta * bound);
}

void Epilogue::append_rounding(const Quantization& rounding) {
  const int low = rounding.type == Type::u8 ? 0 : -128;
  const auto first = static_cast<float>(low - rounding.zero_point);
  flush();
  ops.append_eltwise(dnnl::algorithm::eltwise_round, 0, 0);
  ops.append_eltwise(dnnl::algorithm::eltwise_clip, first, first + 255);
}

void Epilogue::append_addend(const Unit& unit, const Desc& addend, bool in_place) {
  float factor = 1 / measure_;
  if (unit.addend.quantization) {
    factor *= unit.addend.quantization->scale;
    // The library adds stored numbers as they are.
    append_linear(1, -static_cast<float>(unit.addend.quantization->zero_point) * factor);
  }
  flush();
  if (in_place) {
    ops.append_sum(factor);
  } else {  // in its own measure
    addend_argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1;
    ops.append_binary(dnnl::algorithm::binary_add, addend);
  }
}

void Epilogue::bring_to(float measure) {
  if (measure == measure_) return;
  append_linear(measure_ / measure, 0);
  measure_ = measure;
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
