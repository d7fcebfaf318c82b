// SPDX-License-Identifier: Apache-2.0
#include "rescaling.h"

#include <cstring>

namespace gantry::onednn {

Rescaling::Rescaling(const Unit& unit, int weights_mask) {
  if (!unit.is_quantized()) return;
  add(DNNL_ARG_SRC, *unit.sources[0].quantization);
  if (unit.weight_quantization)
    add_scales(DNNL_ARG_WEIGHTS, weights_mask, unit.weight_quantization->scales);
  if (unit.target.quantization) add(DNNL_ARG_DST, *unit.target.quantization);
}

void Rescaling::add_scales(int number, int mask, const std::vector<float>& scales) {
  dnnl::memory memory(desc_f32({static_cast<int64_t>(scales.size())}, Tag::a), engine());
  std::memcpy(memory.get_data_handle(), scales.data(), scales.size() * sizeof(float));
  arguments_.push_back({number, mask, true, memory});
}

void Rescaling::add(int number, const Quantization& quantization) {
  add_scales(number, 0, {quantization.scale});
  if (quantization.zero_point == 0) return;
  dnnl::memory memory(Desc({1}, Type::s32, Tag::a), engine());
  std::memcpy(memory.get_data_handle(), &quantization.zero_point, sizeof(int32_t));
  arguments_.push_back({number, 0, false, memory});
}

void Rescaling::describe(dnnl::primitive_attr& attr) const {
  for (const Argument& argument : arguments_) {
    if (argument.is_scale) {
      attr.set_scales_mask(argument.number, argument.mask);
    } else {
      attr.set_zero_points_mask(argument.number, argument.mask);
    }
  }
}

void Rescaling::bind(Launch& launch) const {
  for (const Argument& argument : arguments_) {
    const int kind = argument.is_scale ? DNNL_ARG_ATTR_SCALES : DNNL_ARG_ATTR_ZERO_POINTS;
    launch.add(kind | argument.number, argument.numbers);
  }
}

}  // namespace gantry::onednn
