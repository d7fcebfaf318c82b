// SPDX-License-Identifier: Apache-2.0
#include "onednn/post_ops.h"

namespace gantry::x86 {
namespace {

/// True if f(m * x) = m * f(x) for every m > 0, once bounds are divided by m.
bool is_proportional(const Activation& activation) {
  return activation.algorithm == dnnl::algorithm::eltwise_relu ||
         activation.algorithm == dnnl::algorithm::eltwise_clip;
}

}  // namespace

float scale_before(const Fusion& fusion, size_t number, bool adds_in_any) {
  if (!fusion.is_quantized()) return 1;
  const auto& steps = fusion.epilogue.steps;
  for (; number < steps.size(); ++number) {
    const EpilogueStep& step = steps[number];
    if (step.rounding) return step.rounding->scale;
    if (step.activation) {
      if (!is_proportional(*step.activation)) return 1;
    } else if (!fusion.addend.quantization) {
      return 1;
    } else if (!adds_in_any) {
      return fusion.addend.quantization->scale;
    }
  }
  return fusion.target.quantization ? fusion.target.quantization->scale : 1;
}

bool is_done_by_storing(const Fusion& fusion, size_t number) {
  const auto& activation = fusion.epilogue.steps[number].activation;
  const auto& target = fusion.target.quantization;
  if (number + 1 < fusion.epilogue.steps.size() || !activation || !target) return false;
  const int least = target->type == Type::u8 ? 0 : -128;
  const auto lowest = static_cast<float>(least - target->zero_point) * target->scale;
  const auto& [function, alpha, beta] = *activation;
  if (function == dnnl::algorithm::eltwise_relu) return alpha == 0 && lowest == 0;
  return function == dnnl::algorithm::eltwise_clip && alpha <= lowest &&
         beta >= lowest + 255 * target->scale;
}

float result_scale(const Fusion& fusion) { return scale_before(fusion, 0, false); }

PostOps::PostOps(const Fusion& fusion, const Desc& addend, Variant variant)
    : measure_(result_scale(fusion)) {
  if (variant == Variant::kOwn) return;
  const bool in_place = variant == Variant::kInPlace;
  for (size_t i = 0; i < fusion.epilogue.steps.size(); ++i)
    append_step(fusion, i, addend, in_place);
  flush();
}

void PostOps::append_step(const Fusion& fusion, size_t number, const Desc& addend, bool in_place) {
  const EpilogueStep& step = fusion.epilogue.steps[number];
  if (is_done_by_storing(fusion, number)) return;
  if (step.activation) {
    append_activation(*step.activation);
  } else if (step.rounding) {
    append_rounding(*step.rounding);
  } else {
    append_addend(fusion, addend, in_place);
  }
  bring_to(scale_before(fusion, number + 1, in_place));
}

void PostOps::append_activation(const Activation& activation) {
  flush();
  const bool is_clip = activation.algorithm == dnnl::algorithm::eltwise_clip;
  const float bound = is_clip ? 1 / measure_ : 1;
  ops.append_eltwise(activation.algorithm, activation.alpha * bound, activation.beta * bound);
}

void PostOps::append_rounding(const Quantization& rounding) {
  const int low = rounding.type == Type::u8 ? 0 : -128;
  const auto first = static_cast<float>(low - rounding.zero_point);
  flush();
  ops.append_eltwise(dnnl::algorithm::eltwise_round, 0, 0);
  ops.append_eltwise(dnnl::algorithm::eltwise_clip, first, first + 255);
}

void PostOps::append_addend(const Fusion& fusion, const Desc& addend, bool in_place) {
  float factor = 1 / measure_;
  if (fusion.addend.quantization) {
    factor *= fusion.addend.quantization->scale;
    // oneDNN adds the stored int8 value, without its zero point.
    append_linear(1, -static_cast<float>(fusion.addend.quantization->zero_point) * factor);
  }
  flush();
  if (in_place) {
    ops.append_sum(factor);
  } else {  // in its own measure
    addend_argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1;
    ops.append_binary(dnnl::algorithm::binary_add, addend);
  }
}

void PostOps::bring_to(float measure) {
  if (measure == measure_) return;
  append_linear(measure_ / measure, 0);
  measure_ = measure;
}

void PostOps::append_linear(float factor, float shift) {
  factor_ *= factor;
  shift_ = shift_ * factor + shift;
}

void PostOps::flush() {
  if (factor_ != 1 || shift_ != 0)
    ops.append_eltwise(dnnl::algorithm::eltwise_linear, factor_, shift_);
  factor_ = 1;
  shift_ = 0;
}

}  // namespace gantry::x86
