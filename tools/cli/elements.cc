// SPDX-License-Identifier: Apache-2.0
#include "elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

namespace gantry::cli {
namespace {

/// A floating-point type of at most 16 bits.
struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum class Special { kIeee, kNanOnly, kNegativeZeroIsNan, kNone } special;
};

std::optional<SmallFloat> small_float(DType dtype) {
  using Special = SmallFloat::Special;
  switch (dtype) {
    case DType::kFloat16:
      return SmallFloat{5, 10, 15, Special::kIeee};
    case DType::kBfloat16:
      return SmallFloat{8, 7, 127, Special::kIeee};
    case DType::kFloat8E4M3Fn:
      return SmallFloat{4, 3, 7, Special::kNanOnly};
    case DType::kFloat8E4M3Fnuz:
      return SmallFloat{4, 3, 8, Special::kNegativeZeroIsNan};
    case DType::kFloat8E5M2:
      return SmallFloat{5, 2, 15, Special::kIeee};
    case DType::kFloat8E5M2Fnuz:
      return SmallFloat{5, 2, 16, Special::kNegativeZeroIsNan};
    case DType::kFloat4E2M1:
      return SmallFloat{2, 1, 1, Special::kNone};
    case DType::kFloat6E2M3:
      return SmallFloat{2, 3, 1, Special::kNone};
    case DType::kFloat6E3M2:
      return SmallFloat{3, 2, 3, Special::kNone};
    default:
      return std::nullopt;
  }
}

double decode(uint32_t bits, const SmallFloat& format) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const uint32_t exponent_mask = (1u << format.exponent_bits) - 1;
  const uint32_t mantissa_mask = (1u << format.mantissa_bits) - 1;
  const uint32_t mantissa = bits & mantissa_mask;
  const uint32_t exponent = bits >> format.mantissa_bits & exponent_mask;
  const bool negative = bits >> (format.mantissa_bits + format.exponent_bits) & 1;
  switch (format.special) {
    case SmallFloat::Special::kIeee:
      if (exponent == exponent_mask) {
        if (mantissa != 0) return kNan;
        return negative ? -std::numeric_limits<double>::infinity()
                        : std::numeric_limits<double>::infinity();
      }
      break;
    case SmallFloat::Special::kNanOnly:
      if (exponent == exponent_mask && mantissa == mantissa_mask) return kNan;
      break;
    case SmallFloat::Special::kNegativeZeroIsNan:
      if (negative && exponent == 0 && mantissa == 0) return kNan;
      break;
    case SmallFloat::Special::kNone:
      break;
  }
  const uint32_t significand = exponent == 0 ? mantissa : mantissa | 1u << format.mantissa_bits;
  const int power = std::max(static_cast<int>(exponent), 1) - format.bias - format.mantissa_bits;
  const double value = std::ldexp(static_cast<double>(significand), power);
  return negative ? -value : value;
}

// Bit pattern of element `index` of a type of at most 16 bits.
uint32_t element_bits(const Tensor& tensor, size_t index) {
  const auto* bytes = static_cast<const uint8_t*>(tensor.data());
  const uint32_t bits = bits_of(tensor.dtype());
  if (bits == 16) return static_cast<uint32_t>(bytes[2 * index] | bytes[2 * index + 1] << 8);
  return bits == 8 ? bytes[index] : load_packed(bytes, index, bits);
}

double small_number(const Tensor& tensor, size_t index) {
  const DType dtype = tensor.dtype();
  const uint32_t bits = element_bits(tensor, index);
  if (const auto format = small_float(dtype)) return decode(bits, *format);
  if (dtype == DType::kFloat8E8M0) {
    return bits == 0xFF ? std::numeric_limits<double>::quiet_NaN()
                        : std::ldexp(1.0, static_cast<int>(bits) - 127);
  }
  const auto range = static_cast<int>(1u << bits_of(dtype));
  const bool is_signed = dtype == DType::kInt4 || dtype == DType::kInt2;
  const auto value = static_cast<int>(bits);
  return is_signed && value >= range / 2 ? value - range : value;
}

template <class T>
std::vector<double> convert(const Tensor& tensor, size_t per_element = 1) {
  const auto* elements = static_cast<const T*>(tensor.data());
  const size_t count = static_cast<size_t>(tensor.element_count()) * per_element;
  std::vector<double> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<double>(elements[i]);
  return numbers;
}

// Uniform in [0, 1). std::uniform_real_distribution may differ between standard libraries.
double unit(std::mt19937_64& generator) {
  return std::ldexp(static_cast<double>(generator() >> 11), -53);
}

template <class T>
void fill(Tensor& tensor, std::mt19937_64& generator, size_t per_element = 1) {
  auto* elements = static_cast<T*>(tensor.data());
  const size_t count = static_cast<size_t>(tensor.element_count()) * per_element;
  for (size_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      elements[i] = static_cast<T>(2 * unit(generator) - 1);
    } else {
      // Wide integers are ids, masks and positions: 0 and 1 are in every vocabulary and mask.
      elements[i] = static_cast<T>(generator() % (sizeof(T) < sizeof(int32_t) ? 10 : 2));
    }
  }
}

// Bit pattern of a random element: for a float a uniform value in [-1, 1), truncated to the type;
// for an integer 0 to 9, or to the largest of the type.
uint32_t random_bits(DType dtype, std::mt19937_64& generator) {
  const auto random = static_cast<uint32_t>(generator() >> 32);
  if (dtype == DType::kFloat8E8M0) return 120 + random % 8;  // powers of two up to 1
  if (const auto format = small_float(dtype)) {
    const double value = 2 * unit(generator) - 1;
    int exponent = 0;
    const double fraction = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
    const int biased = exponent - 1 + format->bias;
    const uint32_t sign = value < 0 ? 1u << (format->exponent_bits + format->mantissa_bits) : 0;
    if (biased <= 0) {  // below the normal numbers, which some types have from 1 on only
      const int smallest = 1 - format->bias - format->mantissa_bits;
      return sign | static_cast<uint32_t>(std::ldexp(std::abs(value), -smallest));
    }
    const auto mantissa =
        static_cast<uint32_t>(std::ldexp(2 * fraction - 1, format->mantissa_bits));
    return sign | static_cast<uint32_t>(biased) << format->mantissa_bits | mantissa;
  }
  const uint32_t largest = dtype == DType::kInt2    ? 1
                           : dtype == DType::kUint2 ? 3
                           : dtype == DType::kInt4  ? 7
                                                    : 9;
  return random % (largest + 1);
}

void fill_small(Tensor& tensor, std::mt19937_64& generator) {
  auto* bytes = static_cast<uint8_t*>(tensor.data());
  const uint32_t bits = bits_of(tensor.dtype());
  const auto count = static_cast<size_t>(tensor.element_count());
  for (size_t i = 0; i < count; ++i) {
    const uint32_t element = random_bits(tensor.dtype(), generator);
    if (bits == 16) {
      bytes[2 * i] = static_cast<uint8_t>(element);
      bytes[2 * i + 1] = static_cast<uint8_t>(element >> 8);
    } else if (bits == 8) {
      bytes[i] = static_cast<uint8_t>(element);
    } else {
      fill_packed(bytes, i, bits, static_cast<uint8_t>(element));
    }
  }
}

}  // namespace

std::vector<double> to_numbers(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return convert<float>(tensor);
    case DType::kDouble:
      return convert<double>(tensor);
    case DType::kComplex64:
      return convert<float>(tensor, 2);
    case DType::kComplex128:
      return convert<double>(tensor, 2);
    case DType::kInt8:
      return convert<int8_t>(tensor);
    case DType::kInt16:
      return convert<int16_t>(tensor);
    case DType::kInt32:
      return convert<int32_t>(tensor);
    case DType::kInt64:
      return convert<int64_t>(tensor);
    case DType::kBool:
    case DType::kUint8:
      return convert<uint8_t>(tensor);
    case DType::kUint16:
      return convert<uint16_t>(tensor);
    case DType::kUint32:
      return convert<uint32_t>(tensor);
    case DType::kUint64:
      return convert<uint64_t>(tensor);
    case DType::kString:
    case DType::kUndefined:
      throw Error(Code::kInvalidArgument,
                  "elements of type " + std::string(to_string(tensor.dtype())) + " are no numbers");
    default:
      break;
  }
  std::vector<double> numbers(static_cast<size_t>(tensor.element_count()));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = small_number(tensor, i);
  return numbers;
}

Tensor random_tensor(DType dtype, const std::vector<int64_t>& shape, std::mt19937_64& generator) {
  if (dtype == DType::kString) {
    std::vector<std::string> strings(static_cast<size_t>(element_count(shape)));
    for (std::string& text : strings) text = std::to_string(generator() % 10);
    return {shape, std::move(strings)};
  }
  Tensor tensor(dtype, shape);
  switch (dtype) {
    case DType::kFloat:
      fill<float>(tensor, generator);
      break;
    case DType::kDouble:
      fill<double>(tensor, generator);
      break;
    case DType::kComplex64:
      fill<float>(tensor, generator, 2);
      break;
    case DType::kComplex128:
      fill<double>(tensor, generator, 2);
      break;
    case DType::kInt8:
    case DType::kUint8:
      fill<uint8_t>(tensor, generator);
      break;
    case DType::kInt16:
    case DType::kUint16:
      fill<uint16_t>(tensor, generator);
      break;
    case DType::kInt32:
    case DType::kUint32:
      fill<uint32_t>(tensor, generator);
      break;
    case DType::kInt64:
    case DType::kUint64:
      fill<uint64_t>(tensor, generator);
      break;
    case DType::kBool: {
      auto* elements = static_cast<uint8_t*>(tensor.data());
      for (int64_t i = 0; i < tensor.element_count(); ++i)
        elements[i] = static_cast<uint8_t>(generator() >> 63);
      break;
    }
    default:
      fill_small(tensor, generator);
  }
  return tensor;
}

}  // namespace gantry::cli
