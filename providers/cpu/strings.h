// SPDX-License-Identifier: Apache-2.0
// String tensors through the host's functions: reading one text, reading all as views, and building
// a new tensor. The views borrow from the value that they were read from.
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

/// A value that is being built, released unless it is passed on.
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

/// A new string tensor of this shape, its texts empty.
inline OwnedValue create_string_tensor(const gantry_host* host, sdk::Shape shape) {
  gantry_value* value = nullptr;
  gantry_tensor* tensor = nullptr;
  sdk::check(host, host->value_create_tensor(GANTRY_STRING, static_cast<uint32_t>(shape.rank),
                                             shape.data, &value, &tensor));
  return {host, value};
}

inline void set_string(const gantry_host* host, gantry_value* value, int64_t index,
                       gantry_str text) {
  sdk::check(host, host->value_set_string(value, static_cast<uint64_t>(index), text));
}

/// Views of all texts of a string tensor, into `target`.
inline void read_strings(const gantry_host* host, const gantry_value* value, int64_t count,
                         gantry_str* target) {
  for (int64_t i = 0; i < count; ++i) target[i] = string_at(host, value, i);
}

}  // namespace gantry::cpu
