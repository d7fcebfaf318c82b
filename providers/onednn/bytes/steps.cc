// SPDX-License-Identifier: Apache-2.0
#include "bytes/steps.h"

#include "epilogue.h"

namespace gantry::onednn {

ByteType byte_type_of(Type type) {
  switch (type) {
    case Type::u8:
      return ByteType::kU8;
    case Type::s8:
      return ByteType::kS8;
    case Type::s32:
      return ByteType::kS32;
    default:
      return ByteType::kF32;
  }
}

std::optional<std::vector<ByteStep>> byte_steps_of(const Unit& unit) {
  using Kind = ByteStep::Kind;
  std::vector<ByteStep> steps;
  float measure = measure_of_results(unit);
  const auto& chain = unit.chain.steps;
  for (size_t i = 0; i < chain.size(); ++i) {
    const EpilogueStep& step = chain[i];
    const float next = measure_before(unit, i + 1, true);
    if (step.rounding) {
      const auto& [type, scale, zero_point] = *step.rounding;
      const auto low = static_cast<float>((type == Type::u8 ? 0 : -128) - zero_point);
      steps.push_back({Kind::kRound, low, low + 255});
    } else if (!step.activation) {
      if (!unit.addend.quantization) return std::nullopt;
      const auto& [type, scale, zero_point] = *unit.addend.quantization;
      const float factor = scale / next;
      steps.push_back({Kind::kAdd, measure / next, -static_cast<float>(zero_point) * factor, factor,
                       type == Type::s8});
      measure = next;
    } else if (step.activation->algorithm == dnnl::algorithm::eltwise_relu) {
      if (!is_done_by_storing(unit, i)) steps.push_back({Kind::kRelu, step.activation->alpha, 0});
    } else if (step.activation->algorithm == dnnl::algorithm::eltwise_clip) {
      if (!is_done_by_storing(unit, i)) {
        steps.push_back(
            {Kind::kClip, step.activation->alpha / measure, step.activation->beta / measure});
      }
    } else {
      return std::nullopt;
    }
    const bool adds_next = i + 1 < chain.size() && chain[i + 1].addend != GANTRY_NONE;
    if (measure != next && !adds_next) {  // an addition multiplies what it adds to
      steps.push_back({Kind::kLinear, measure / next, 0});
      measure = next;
    }
  }
  return steps;
}

}  // namespace gantry::onednn
