// SPDX-License-Identifier: Apache-2.0
// OrtValue. One thread at a time changes a value. All values of libraries of operators are tensors.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "objects/tensor_type.h"

namespace gantry::ort {

struct Value {
  ValueKind kind = ValueKind::kTensor;  ///< kUnknown: an optional without a value
  TensorType type;                      ///< of a tensor
  /// Dense elements in host memory, the last axis fastest; null for strings.
  void* data = nullptr;
  std::vector<std::string> texts;  ///< the elements of strings
  std::shared_ptr<void> memory;    ///< what keeps `data`, if this value does
  /// Of a sequence its elements; of a map two tensors, its keys and its values.
  std::vector<std::shared_ptr<const Value>> items;

  /// The size of `data`. ApiError: too large.
  [[nodiscard]] size_t size_bytes() const;
  /// A tensor with memory of its own, not initialised; strings are empty. ApiError: a type that is
  /// not known, or too large.
  static std::unique_ptr<Value> make(TensorType type);
};

/// The type of a value. Errors: ApiError: an empty sequence, of which it is not known.
TypeInfo type_of(const Value& value);

}  // namespace gantry::ort
