// SPDX-License-Identifier: Apache-2.0
#include "int8/epilogue.h"

#include "onednn/post_ops.h"

namespace gantry::x86 {

Int8Type int8_type_of(Type type) {
  switch (type) {
    case Type::u8:
      return Int8Type::kU8;
    case Type::s8:
      return Int8Type::kS8;
    case Type::s32:
      return Int8Type::kS32;
    default:
      return Int8Type::kF32;
  }
}

std::optional<std::vector<Int8EpilogueStep>> int8_epilogue_of(const Fusion& fusion) {
  using Kind = Int8EpilogueStep::Kind;
  std::vector<Int8EpilogueStep> steps;
  float measure = result_scale(fusion);
  const auto& epilogue = fusion.epilogue.steps;
  for (size_t i = 0; i < epilogue.size(); ++i) {
    const EpilogueStep& step = epilogue[i];
    const float next = scale_before(fusion, i + 1, true);
    if (step.rounding) {
      const auto& [type, scale, zero_point] = *step.rounding;
      const auto low = static_cast<float>((type == Type::u8 ? 0 : -128) - zero_point);
      steps.push_back({Kind::kRound, low, low + 255});
    } else if (!step.activation) {
      if (!fusion.addend.quantization) return std::nullopt;
      const auto& [type, scale, zero_point] = *fusion.addend.quantization;
      const float factor = scale / next;
      steps.push_back({Kind::kAdd, measure / next, -static_cast<float>(zero_point) * factor, factor,
                       type == Type::s8});
      measure = next;
    } else if (step.activation->algorithm == dnnl::algorithm::eltwise_relu) {
      if (!is_done_by_storing(fusion, i)) steps.push_back({Kind::kRelu, step.activation->alpha, 0});
    } else if (step.activation->algorithm == dnnl::algorithm::eltwise_clip) {
      if (!is_done_by_storing(fusion, i)) {
        steps.push_back(
            {Kind::kClip, step.activation->alpha / measure, step.activation->beta / measure});
      }
    } else {
      return std::nullopt;
    }
    const bool adds_next = i + 1 < epilogue.size() && epilogue[i + 1].addend != GANTRY_NONE;
    if (measure != next && !adds_next) {  // kAdd rescales its operand itself
      steps.push_back({Kind::kLinear, measure / next, 0});
      measure = next;
    }
  }
  return steps;
}

}  // namespace gantry::x86
