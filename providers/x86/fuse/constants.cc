// SPDX-License-Identifier: Apache-2.0
#include "fuse/constants.h"

#include <gantry/sdk/kernel.h>

#include <cstring>

namespace gantry::x86 {

bool is_constant_f32(const sdk::ValueView& value) {
  const gantry_tensor* tensor = value.constant();
  return tensor && tensor->dtype == GANTRY_FLOAT;
}

int64_t element_count(const sdk::ValueView& value) {
  return sdk::Shape(*value.constant()).element_count();
}

std::vector<float> floats_of(const sdk::ValueView& value) {
  std::vector<float> numbers(static_cast<size_t>(element_count(value)));
  if (!numbers.empty())
    std::memcpy(numbers.data(), value.constant()->data, numbers.size() * sizeof(float));
  return numbers;
}

std::optional<float> scalar_of(const sdk::ValueView& value) {
  if (!is_constant_f32(value) || element_count(value) != 1) return std::nullopt;
  return floats_of(value)[0];
}

std::optional<int64_t> integer_of(const sdk::ValueView& value) {
  const gantry_tensor* tensor = value.constant();
  if (!tensor || tensor->dtype != GANTRY_INT64 || element_count(value) != 1) return std::nullopt;
  int64_t number = 0;
  std::memcpy(&number, tensor->data, sizeof(number));
  return number;
}

std::optional<std::vector<float>> along_axis(const sdk::ValueView& value, int rank, int axis,
                                             int64_t channels) {
  if (!is_constant_f32(value) || value.rank() > rank) return std::nullopt;
  for (int i = 0; i < value.rank(); ++i) {
    const int of_tensor = i + rank - value.rank();
    if (value.extent(i) != 1 && (of_tensor != axis || value.extent(i) != channels))
      return std::nullopt;
  }
  std::vector<float> numbers = floats_of(value);
  if (numbers.size() == 1) numbers.resize(static_cast<size_t>(channels), numbers[0]);
  return numbers;
}

}  // namespace gantry::x86
