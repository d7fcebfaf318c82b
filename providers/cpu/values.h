// SPDX-License-Identifier: Apache-2.0
// Helpers over the host's value functions: create sequences, maps, optionals and tensors; read and
// write string tensors. A gantry_str that is read borrows from its value. All throw what the host
// reports.
#pragma once

#include <gantry/sdk/error.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace gantry::cpu {

/// Element `index` of a string tensor.
inline gantry_str string_at(const gantry_host* host, const gantry_value* value, int64_t index) {
  gantry_str text = {};
  sdk::check(host, host->value_string(value, static_cast<uint64_t>(index), &text));
  return text;
}

/// Owns a value and releases it.
class OwnedValue {
 public:
  OwnedValue(const gantry_host* host, gantry_value* value) : host_(host), value_(value) {}
  OwnedValue(OwnedValue&& other) noexcept
      : host_(other.host_), value_(std::exchange(other.value_, nullptr)) {}
  OwnedValue(const OwnedValue&) = delete;
  OwnedValue& operator=(const OwnedValue&) = delete;
  OwnedValue& operator=(OwnedValue&&) = delete;
  ~OwnedValue() { host_->value_release(value_); }

  [[nodiscard]] gantry_value* get() const { return value_; }

 private:
  const gantry_host* host_;
  gantry_value* value_;
};

/// A new, empty sequence, map or optional.
inline OwnedValue create_value(const gantry_host* host, gantry_kind kind, uint32_t dtype) {
  gantry_value* value = nullptr;
  sdk::check(host, host->value_create(kind, dtype, &value));
  return {host, value};
}

/// A new tensor; `tensor` is set to its view, valid as long as the value. Numeric elements are
/// unspecified, strings are empty.
inline OwnedValue create_tensor(const gantry_host* host, uint32_t dtype, sdk::Shape shape,
                                gantry_tensor*& tensor) {
  gantry_value* value = nullptr;
  sdk::check(host, host->value_create_tensor(dtype, static_cast<uint32_t>(shape.rank), shape.data,
                                             &value, &tensor));
  return {host, value};
}
inline OwnedValue create_string_tensor(const gantry_host* host, sdk::Shape shape) {
  gantry_tensor* tensor = nullptr;
  return create_tensor(host, GANTRY_STRING, shape, tensor);
}

inline void set_string(const gantry_host* host, gantry_value* value, int64_t index,
                       gantry_str text) {
  sdk::check(host, host->value_set_string(value, static_cast<uint64_t>(index), text));
}

/// A new string tensor whose element i is text_at(i), a std::string or a view.
template <class TextAt>
OwnedValue create_string_tensor(const gantry_host* host, sdk::Shape shape, TextAt text_at) {
  OwnedValue result = create_string_tensor(host, shape);
  const int64_t count = shape.element_count();
  for (int64_t i = 0; i < count; ++i) {
    const auto& text = text_at(i);
    set_string(host, result.get(), i, sdk::to_str(text));
  }
  return result;
}
/// Writes views of the first `count` elements of a string tensor to `target`.
inline void read_strings(const gantry_host* host, const gantry_value* value, int64_t count,
                         gantry_str* target) {
  for (int64_t i = 0; i < count; ++i) target[i] = string_at(host, value, i);
}

}  // namespace gantry::cpu
