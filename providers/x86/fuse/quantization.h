// SPDX-License-Identifier: Apache-2.0
// How int8 values stand for floats: x = (q - zero_point) * scale. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "onednn/library.h"

namespace gantry::x86 {

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

/// What a constant scale and zero point say of a whole tensor of int8; `zero` may be absent.
/// Nothing: they are not constant, or not for the whole tensor.
std::optional<Quantization> quantization_of(Type type, const sdk::ValueView& scale,
                                            const sdk::ValueView& zero);

/// Of a QuantizeLinear or DequantizeLinear between f32 and 8 bits with a constant scale and zero
/// point for the whole tensor; nothing for other nodes.
std::optional<Quantization> quantization_of(const sdk::NodeView& node);

/// What constant scales and zero points say of constant weights, by index of `axis` or for all,
/// around zero. `scales` absent: all are 1. Nothing: they are other than that.
std::optional<WeightQuantization> weight_quantization_of(const sdk::ValueView& weights, int axis,
                                                         const sdk::ValueView& scales,
                                                         const sdk::ValueView& zero);

/// Of a DequantizeLinear of a constant of int8, with one scale for each index of `axis` or one
/// for all, around zero; nothing for other nodes.
std::optional<WeightQuantization> weight_quantization_of(const sdk::NodeView& node, int axis);

/// The elements of a constant vector of i32.
std::optional<std::vector<int32_t>> integers_of(const sdk::ValueView& value);

/// What a DequantizeLinear makes of a constant vector of `count` i32 without zero points. Nothing
/// for others.
std::optional<std::vector<float>> dequantized_vector(const sdk::NodeView& dequantize,
                                                     int64_t count);

}  // namespace gantry::x86
