// SPDX-License-Identifier: Apache-2.0
// How numbers of 8 bits stand for floats: x = (q - zero_point) * scale. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "library.h"

namespace gantry::onednn {

using Type = dnnl::memory::data_type;

/// Of a whole tensor.
struct Quantization {
  Type type = Type::undef;  ///< u8 or s8
  float scale = 1;
  int32_t zero_point = 0;

  friend bool operator==(const Quantization& a, const Quantization& b) {
    return a.type == b.type && a.scale == b.scale && a.zero_point == b.zero_point;
  }
};

/// Of constant weights, around zero.
struct WeightQuantization {
  std::vector<float> scales;  ///< one for each output channel
  /// what is added to each stored byte, modulo 256, so that it is a signed number around zero
  uint8_t offset = 0;
};

/// The library's name for an element type of the boundary; undef: none that is used here.
Type type_of(uint32_t dtype);
/// The boundary's name for it.
gantry_dtype dtype_of(Type type);

/// Of a QuantizeLinear or DequantizeLinear between f32 and 8 bits with a constant scale and zero
/// point for the whole tensor; nothing for other nodes.
std::optional<Quantization> quantization_of(const sdk::NodeView& node);

/// Of a DequantizeLinear of a constant of 8 bits, with one scale for each index of `axis` or one
/// for all, around zero; nothing for other nodes.
std::optional<WeightQuantization> weight_quantization_of(const sdk::NodeView& node, int axis);

/// The numbers of a constant vector of `count` elements: f32, or what a DequantizeLinear makes of
/// i32 without zero points. Nothing for others.
std::optional<std::vector<float>> dequantized_vector(const sdk::NodeView& dequantize,
                                                     int64_t count);

}  // namespace gantry::onednn
