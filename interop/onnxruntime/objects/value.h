// SPDX-License-Identifier: Apache-2.0
// OrtValue: a tensor. All values of libraries of operators are tensors. One thread at a time
// changes a value.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "objects/tensor_type.h"

namespace gantry::ort {

struct Value {
  TensorType type;
  /// Dense elements in host memory, the last axis fastest; null for strings.
  void* data = nullptr;
  std::vector<std::string> texts;  ///< the elements of strings
  std::shared_ptr<void> memory;    ///< what keeps `data`, if this value does

  /// The size of `data`. ApiError: too large.
  [[nodiscard]] size_t size_bytes() const;
  /// A tensor with memory of its own, not initialised; strings are empty. ApiError: a type that is
  /// not known, or too large.
  static std::unique_ptr<Value> make(TensorType type);
};

}  // namespace gantry::ort
