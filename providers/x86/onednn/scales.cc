// SPDX-License-Identifier: Apache-2.0
#include "onednn/scales.h"

#include <algorithm>
#include <cstring>

#include "onednn/post_ops.h"

namespace gantry::x86 {

Rescaling::Rescaling(const Fusion& fusion, int weights_mask)
    : measure_(result_scale(fusion)), weights_mask_(weights_mask) {
  if (!fusion.is_quantized()) return;
  const Quantization& source = *fusion.sources[0].quantization;
  scales_ = fusion.weight_quantization->scales;
  for (float& scale : scales_) scale *= source.scale / measure_;
  scales_memory_ = dnnl::memory(desc_f32({static_cast<int64_t>(scales_.size())}, Tag::a), engine());
  std::memcpy(scales_memory_.get_data_handle(), scales_.data(), scales_.size() * sizeof(float));
  add_zero_point(DNNL_ARG_SRC, source.zero_point);
  if (fusion.target.quantization)
    add_zero_point(DNNL_ARG_DST, fusion.target.quantization->zero_point);
}

void Rescaling::add_zero_point(int argument, int32_t number) {
  if (number == 0) return;
  dnnl::memory memory(Desc({1}, Type::s32, Tag::a), engine());
  std::memcpy(memory.get_data_handle(), &number, sizeof(number));
  zero_points_.push_back({argument, memory});
}

bool Rescaling::has_source_zero_point() const {
  return std::any_of(zero_points_.begin(), zero_points_.end(), [](const ZeroPoint& zero_point) {
    return zero_point.argument == DNNL_ARG_SRC;
  });
}

void Rescaling::describe(dnnl::primitive_attr& attr) const {
  if (scales_.empty()) return;
  attr.set_scales_mask(DNNL_ARG_WEIGHTS, weights_mask_);
  for (const ZeroPoint& zero_point : zero_points_)
    attr.set_zero_points_mask(zero_point.argument, 0);
}

void Rescaling::bind(Launch& launch) const {
  if (scales_.empty()) return;
  launch.add(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, scales_memory_);
  for (const ZeroPoint& zero_point : zero_points_)
    launch.add(DNNL_ARG_ATTR_ZERO_POINTS | zero_point.argument, zero_point.number);
}

std::vector<float> Rescaling::bias_of(std::vector<float> bias) const {
  if (measure_ != 1) {
    for (float& x : bias) x /= measure_;
  }
  return bias;
}

}  // namespace gantry::x86
