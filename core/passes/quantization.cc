// SPDX-License-Identifier: Apache-2.0
#include "passes/quantization.h"

#include <cmath>
#include <cstring>

namespace gantry {
namespace {

bool is_operator(const Node& node, const char* op_type) {
  return node.op_type == op_type && node.domain.empty() && node.inputs.size() >= 2 &&
         node.inputs[0] && node.inputs[1] && node.outputs.size() == 1 && node.outputs[0];
}

// The element of a one-element constant, which may be unaligned in a mapped file.
template <class T>
std::optional<T> scalar(const GraphValue* value, DType dtype) {
  if (!value || !value->constant || value->constant->dtype != dtype) return std::nullopt;
  const gantry_value& constant = *value->constant;
  if (constant.kind != GANTRY_KIND_TENSOR || constant.view.size_bytes != sizeof(T))
    return std::nullopt;
  T element;
  std::memcpy(&element, constant.view.data, sizeof(T));
  return element;
}

}  // namespace

bool is_dequantize(const Node& node) { return is_operator(node, "DequantizeLinear"); }
bool is_quantize(const Node& node) { return is_operator(node, "QuantizeLinear"); }

std::optional<TensorQuantization> quantization_of(const Node& node) {
  const bool dequantizes = is_dequantize(node);
  if (!dequantizes && !is_quantize(node)) return std::nullopt;
  const GraphValue* wide = dequantizes ? node.outputs[0] : node.inputs[0];
  const GraphValue* narrow = dequantizes ? node.inputs[0] : node.outputs[0];
  const auto scale = scalar<float>(node.inputs[1], DType::kFloat);
  if (!scale || !(*scale > 0) || !std::isfinite(*scale) || wide->type.dtype != DType::kFloat)
    return std::nullopt;
  TensorQuantization found{narrow->type.dtype, *scale, 0};
  if (found.dtype != DType::kUint8 && found.dtype != DType::kInt8) return std::nullopt;
  const GraphValue* zero = node.inputs.size() > 2 ? node.inputs[2] : nullptr;
  if (!zero) return found;
  if (found.dtype == DType::kUint8) {
    const auto x = scalar<uint8_t>(zero, found.dtype);
    if (!x) return std::nullopt;
    found.zero_point = *x;
  } else {
    const auto x = scalar<int8_t>(zero, found.dtype);
    if (!x) return std::nullopt;
    found.zero_point = *x;
  }
  return found;
}

}  // namespace gantry
