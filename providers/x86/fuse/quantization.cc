// SPDX-License-Identifier: Apache-2.0
#include "fuse/quantization.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "fuse/constants.h"

namespace gantry::x86 {
namespace {

bool is_operator(const sdk::NodeView& node, std::string_view op_type) {
  return node.op_type() == op_type && node.domain().empty();
}

// The elements of a constant of a dtype; nothing for other values.
template <class T>
std::optional<std::vector<T>> elements_of(const sdk::ValueView& value, gantry_dtype dtype) {
  const gantry_tensor* tensor = value.constant();
  if (!tensor || tensor->dtype != static_cast<uint32_t>(dtype)) return std::nullopt;
  std::vector<T> elements(static_cast<size_t>(element_count(value)));
  if (!elements.empty()) std::memcpy(elements.data(), tensor->data, elements.size() * sizeof(T));
  return elements;
}

// The zero point, if all elements of a constant are equal; 0 if `value` is absent.
std::optional<int32_t> zero_point_of(const sdk::ValueView& value, Type type) {
  if (!value.present()) return 0;
  const auto bytes = elements_of<uint8_t>(value, dtype_of(type));
  if (!bytes || bytes->empty()) return std::nullopt;
  const uint8_t first = bytes->front();
  if (std::any_of(bytes->begin(), bytes->end(), [&](uint8_t x) { return x != first; }))
    return std::nullopt;
  return type == Type::u8 ? int32_t{first} : int32_t{static_cast<int8_t>(first)};
}

}  // namespace

Type type_of(uint32_t dtype) {
  switch (dtype) {
    case GANTRY_FLOAT:
      return Type::f32;
    case GANTRY_UINT8:
      return Type::u8;
    case GANTRY_INT8:
      return Type::s8;
    default:
      return Type::undef;
  }
}

gantry_dtype dtype_of(Type type) {
  return type == Type::u8 ? GANTRY_UINT8 : type == Type::s8 ? GANTRY_INT8 : GANTRY_FLOAT;
}

std::optional<Quantization> quantization_of(const sdk::NodeView& node) {
  const bool dequantizes = is_operator(node, "DequantizeLinear");
  if (!dequantizes && !is_operator(node, "QuantizeLinear")) return std::nullopt;
  const sdk::ValueView bytes = dequantizes ? node.input(0) : node.output(0);
  const sdk::ValueView floats = dequantizes ? node.output(0) : node.input(0);
  if (floats.dtype() != GANTRY_FLOAT) return std::nullopt;
  return quantization_of(type_of(bytes.dtype()), node.input(1), node.input(2));
}

std::optional<Quantization> quantization_of(Type type, const sdk::ValueView& scale,
                                            const sdk::ValueView& zero) {
  if (type != Type::u8 && type != Type::s8) return std::nullopt;
  const std::optional<float> number = scalar_of(scale);
  if (!number || !(*number > 0) || !std::isfinite(*number)) return std::nullopt;
  if (zero.present() && (!zero.is_constant() || element_count(zero) != 1)) return std::nullopt;
  const std::optional<int32_t> zero_point = zero_point_of(zero, type);
  if (!zero_point) return std::nullopt;
  return Quantization{type, *number, *zero_point};
}

std::optional<WeightQuantization> weight_quantization_of(const sdk::ValueView& weights, int axis,
                                                         const sdk::ValueView& scales,
                                                         const sdk::ValueView& zero) {
  const Type type = type_of(weights.dtype());
  if (!weights.constant() || (type != Type::u8 && type != Type::s8) || weights.rank() <= axis)
    return std::nullopt;
  if (scales.present() && !is_constant_f32(scales)) return std::nullopt;
  const std::optional<int32_t> zero_point = zero_point_of(zero, type);
  if (!zero_point || *zero_point != (type == Type::u8 ? 128 : 0)) return std::nullopt;
  WeightQuantization found{scales.present() ? floats_of(scales) : std::vector<float>{1},
                           static_cast<uint8_t>(*zero_point)};
  const auto channels = static_cast<size_t>(weights.extent(axis));
  if (found.scales.size() == 1) found.scales.resize(channels, found.scales[0]);
  if (found.scales.size() != channels) return std::nullopt;
  return found;
}

std::optional<WeightQuantization> weight_quantization_of(const sdk::NodeView& node, int axis) {
  if (!is_operator(node, "DequantizeLinear") || node.output(0).dtype() != GANTRY_FLOAT ||
      node.get_int("block_size", 0) != 0)
    return std::nullopt;
  const sdk::ValueView bytes = node.input(0);
  const int64_t along = node.get_int("axis", 1);
  const bool is_along = along == axis || along + bytes.rank() == axis;
  if (!is_along && (!is_constant_f32(node.input(1)) || element_count(node.input(1)) != 1))
    return std::nullopt;
  return weight_quantization_of(bytes, axis, node.input(1), node.input(2));
}

std::optional<std::vector<int32_t>> integers_of(const sdk::ValueView& value) {
  return elements_of<int32_t>(value, GANTRY_INT32);
}

std::optional<std::vector<float>> dequantized_vector(const sdk::NodeView& node, int64_t count) {
  if (!is_operator(node, "DequantizeLinear") || node.output(0).dtype() != GANTRY_FLOAT)
    return std::nullopt;
  const auto numbers = elements_of<int32_t>(node.input(0), GANTRY_INT32);
  if (!numbers || static_cast<int64_t>(numbers->size()) != count || !is_constant_f32(node.input(1)))
    return std::nullopt;
  std::vector<float> scales = floats_of(node.input(1));
  if (scales.size() == 1) scales.resize(numbers->size(), scales[0]);
  if (scales.size() != numbers->size()) return std::nullopt;
  if (node.input(2).present()) {
    const auto zeros = elements_of<int32_t>(node.input(2), GANTRY_INT32);
    if (!zeros || std::any_of(zeros->begin(), zeros->end(), [](int32_t x) { return x != 0; }))
      return std::nullopt;
  }
  for (size_t i = 0; i < scales.size(); ++i) scales[i] *= static_cast<float>((*numbers)[i]);
  return scales;
}

}  // namespace gantry::x86
