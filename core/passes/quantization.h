// SPDX-License-Identifier: Apache-2.0
// Per-tensor quantization parameters of QuantizeLinear and DequantizeLinear (ai.onnx).
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

/// True of ai.onnx's DequantizeLinear or QuantizeLinear, with a data input and output.
bool is_dequantize(const Node& node);
bool is_quantize(const Node& node);

/// The parameters of a node between float32 and an 8-bit type, if scale and zero point are constant
/// and per tensor; nothing for others. The scale is finite and above 0, so that quantized elements
/// have the order of their float values.
std::optional<TensorQuantization> quantization_of(const Node& node);

}  // namespace gantry
