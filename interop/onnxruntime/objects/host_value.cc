// SPDX-License-Identifier: Apache-2.0
#include "objects/host_value.h"

#include <gantry/sdk/error.h>

#include <cstring>

#include "objects/status.h"

namespace gantry::ort {

Value value_of(const gantry_host* host, const gantry_value& value) {
  const gantry_tensor* found = host->value_tensor(&value);
  if (!found)
    throw ApiError(ErrorCode::kNotImplemented, "expected a tensor, found a value of another kind");
  const gantry_tensor& tensor = *found;
  Value result;
  result.type = {tensor.dtype, {tensor.shape, tensor.shape + tensor.rank}};
  result.data = tensor.data;
  if (tensor.dtype != GANTRY_STRING) return result;
  result.texts.reserve(result.type.element_count());
  for (size_t i = 0; i < result.type.element_count(); ++i) {
    gantry_str text = {};
    sdk::check(host, host->value_string(&value, i, &text));
    result.texts.emplace_back(sdk::to_view(text));
  }
  return result;
}

Value copy_of(const gantry_host* host, const gantry_value& value) {
  Value borrowed = value_of(host, value);
  if (!borrowed.data) return borrowed;
  Value own = *Value::make(borrowed.type);
  std::memcpy(own.data, borrowed.data, own.size_bytes());
  return own;
}

}  // namespace gantry::ort
