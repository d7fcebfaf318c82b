// SPDX-License-Identifier: Apache-2.0
// What a QuantizeLinear or DequantizeLinear says of a whole tensor.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace gantry {

/// One scale and one zero point for all elements of a tensor.
struct TensorQuantization {
  DType dtype = DType::kUndefined;  ///< of the quantized elements
  float scale = 0;
  int32_t zero_point = 0;

  friend bool operator==(const TensorQuantization& a, const TensorQuantization& b) {
    return a.dtype == b.dtype && a.scale == b.scale && a.zero_point == b.zero_point;
  }
};

/// True of ai.onnx's operator of that name, with a data input and output.
bool is_dequantize(const Node& node);
bool is_quantize(const Node& node);

/// Of a node between f32 and 8 bits whose scale and zero point are constant and hold for the whole
/// tensor; nothing for others. The scale is finite and above 0, so that quantized elements are in
/// the order of the floats they stand for.
std::optional<TensorQuantization> quantization_of(const Node& node);

}  // namespace gantry
