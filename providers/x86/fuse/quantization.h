// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of int8 tensors: x = (q - zero_point) * scale. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "onednn/library.h"

namespace gantry::x86 {

using Type = dnnl::memory::data_type;

/// Per-tensor quantization.
struct Quantization {
  Type type = Type::undef;  ///< u8 or s8
  float scale = 1;
  int32_t zero_point = 0;

  friend bool operator==(const Quantization& a, const Quantization& b) {
    return a.type == b.type && a.scale == b.scale && a.zero_point == b.zero_point;
  }
};

/// Symmetric per-channel quantization of constant weights: s8 with zero point 0, u8 with 128.
struct WeightQuantization {
  std::vector<float> scales;  ///< one for each output channel
  /// 0 or 128: added to each stored byte, modulo 256, it gives s8 with zero point 0
  uint8_t offset = 0;
};

/// oneDNN's type of a gantry_dtype: f32, u8 or s8; undef for all others.
Type type_of(uint32_t dtype);
/// The gantry_dtype of u8 and s8; GANTRY_FLOAT for all others.
gantry_dtype dtype_of(Type type);

/// Quantization of an int8 tensor by a constant scale and zero point; `zero` may be absent. Nothing
/// if they are not constant scalars, or the scale is not positive and finite.
std::optional<Quantization> quantization_of(Type type, const sdk::ValueView& scale,
                                            const sdk::ValueView& zero);

/// The same for a QuantizeLinear or DequantizeLinear (ai.onnx) between f32 and int8; nothing for
/// other nodes.
std::optional<Quantization> quantization_of(const sdk::NodeView& node);

/// Quantization of constant int8 weights by constant scales, one for each index of `axis` or one
/// for all. `scales` absent: all are 1. Nothing if an operand is not constant, has other extents,
/// or the zero points are not symmetric (0 for s8, 128 for u8).
std::optional<WeightQuantization> weight_quantization_of(const sdk::ValueView& weights, int axis,
                                                         const sdk::ValueView& scales,
                                                         const sdk::ValueView& zero);

/// The same for a DequantizeLinear (ai.onnx) of constant weights; nothing for other nodes and for
/// blocked quantization.
std::optional<WeightQuantization> weight_quantization_of(const sdk::NodeView& node, int axis);

/// The elements of a constant i32 tensor; nothing for other values.
std::optional<std::vector<int32_t>> integers_of(const sdk::ValueView& value);

/// The result of a DequantizeLinear of a constant i32 tensor of `count` elements whose zero points
/// are absent or 0. Nothing for other nodes.
std::optional<std::vector<float>> dequantized_vector(const sdk::NodeView& dequantize,
                                                     int64_t count);

}  // namespace gantry::x86
