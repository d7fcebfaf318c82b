// SPDX-License-Identifier: Apache-2.0
#include "plan/types.h"

#include <gantry/sdk/bits.h>
#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace gantry::cuda {

std::string type_name(uint32_t dtype) {
  switch (dtype) {
    case GANTRY_FLOAT:
      return "float";
    case GANTRY_DOUBLE:
      return "double";
    case GANTRY_FLOAT16:
      return "f16";
    case GANTRY_BFLOAT16:
      return "bf16";
    case GANTRY_INT8:
      return "i8";
    case GANTRY_INT16:
      return "i16";
    case GANTRY_INT32:
      return "i32";
    case GANTRY_INT64:
      return "i64";
    case GANTRY_UINT8:
      return "u8";
    case GANTRY_UINT16:
      return "u16";
    case GANTRY_UINT32:
      return "u32";
    case GANTRY_UINT64:
      return "u64";
    case GANTRY_BOOL:
      return "bool";
    default:
      throw sdk::Error(GANTRY_UNSUPPORTED, "element type " + std::to_string(dtype) +
                                               " (ONNX TensorProto number) has no kernel");
  }
}

std::string computed_name(uint32_t dtype) {
  return dtype == GANTRY_FLOAT16 || dtype == GANTRY_BFLOAT16 ? "float" : type_name(dtype);
}

int64_t bytes_of(uint32_t dtype) { return sdk::bits_of(dtype) / 8; }

std::string literal(uint32_t dtype, double value) {
  const std::string type = computed_name(dtype);
  if (type == "bool") return value != 0 ? "true" : "false";
  if (std::isnan(value)) return "(" + type + ")float_of(0x7fc00000u)";
  if (std::isinf(value)) {
    return std::string("(") + type + ")float_of(" + (value < 0 ? "0xff800000u" : "0x7f800000u") +
           ")";
  }
  std::array<char, 64> text{};
  if (type == "float" || type == "double") {
    std::snprintf(text.data(), text.size(), "%a", value);
  } else if (value < 0) {
    std::snprintf(text.data(), text.size(), "%lldLL", static_cast<long long>(value));
  } else {
    std::snprintf(text.data(), text.size(), "%lluULL", static_cast<unsigned long long>(value));
  }
  return "(" + type + ")(" + text.data() + ")";
}

double number_at(uint32_t dtype, const void* address) {
  const auto read = [address](auto zero) {
    std::memcpy(&zero, address, sizeof(zero));
    return zero;
  };
  switch (dtype) {
    case GANTRY_FLOAT:
      return static_cast<double>(read(0.0F));
    case GANTRY_DOUBLE:
      return read(0.0);
    case GANTRY_FLOAT16: {
      const uint16_t bits = read(uint16_t{0});
      const int exponent = bits >> 10 & 31;
      const double fraction = bits & 1023;
      const double infinite = fraction == 0 ? std::numeric_limits<double>::infinity()
                                            : std::numeric_limits<double>::quiet_NaN();
      const double size = exponent == 31  ? infinite
                          : exponent == 0 ? std::ldexp(fraction, -24)
                                          : std::ldexp(1024 + fraction, exponent - 25);
      return (bits & 0x8000) != 0 ? -size : size;
    }
    case GANTRY_BFLOAT16:
      return static_cast<double>(
          std::bit_cast<float>(static_cast<uint32_t>(read(uint16_t{0})) << 16));
    case GANTRY_INT16:
      return static_cast<double>(read(int16_t{0}));
    case GANTRY_INT32:
      return static_cast<double>(read(int32_t{0}));
    case GANTRY_INT64:
      return static_cast<double>(read(int64_t{0}));
    default:
      throw sdk::Error(GANTRY_UNSUPPORTED,
                       "element type " + std::to_string(dtype) +
                           " (ONNX TensorProto number) is not read as a number");
  }
}

int64_t count_of(const Extents& shape) { return count_of(shape, 0, shape.size()); }

int64_t count_of(const Extents& shape, size_t first, size_t last) {
  int64_t product = 1;
  for (size_t i = first; i < last; ++i) product *= shape[i];
  return product;
}

Extents dense_strides(const Extents& shape) {
  Extents strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Extents broadcast(const Extents& a, const Extents& b) {
  const Extents& longer = a.size() >= b.size() ? a : b;
  const Extents& shorter = a.size() >= b.size() ? b : a;
  Extents result = longer;
  const size_t missing = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& extent = result[missing + i];
    if (extent != shorter[i] && extent != 1 && shorter[i] != 1) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the shapes " + text_of(a) + " and " + text_of(b) +
                                                    " cannot be broadcast to each other");
    }
    if (extent == 1) extent = shorter[i];
  }
  return result;
}

Extents broadcast_strides(const Extents& shape, const Extents& whole) {
  Extents strides(whole.size(), 0);
  const Extents dense = dense_strides(shape);
  const size_t missing = whole.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) strides[missing + i] = shape[i] == 1 ? 0 : dense[i];
  return strides;
}

int64_t checked_axis(int64_t axis, int64_t rank, const char* what) {
  if (axis < -rank || axis >= rank) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, std::string(what) + " is " + std::to_string(axis) +
                                                  ", expected one of a tensor of " +
                                                  std::to_string(rank) + " axes");
  }
  return axis < 0 ? axis + rank : axis;
}

std::string text_of(const Extents& shape) {
  std::string text = "[";
  for (const int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

}  // namespace gantry::cuda
