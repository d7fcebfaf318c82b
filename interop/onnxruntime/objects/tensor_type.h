// SPDX-License-Identifier: Apache-2.0
// The types of values, as the API hands them out. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gantry::ort {

/// OrtTensorTypeAndShapeInfo. The numbers of ONNXTensorElementDataType are those of gantry_dtype.
struct TensorType {
  uint32_t dtype = 0;
  std::vector<int64_t> shape = {};        ///< -1: an extent that is not known
  std::vector<std::string> symbols = {};  ///< names of such extents; empty, or as many as `shape`
  bool has_shape = true;                  ///< the rank is known

  /// The number of elements; ApiError if an extent is not known or the number is too large.
  [[nodiscard]] size_t element_count() const;
};

/// ONNXType; the numbers are the API's.
enum class ValueKind : int { kUnknown = 0, kTensor = 1, kSequence = 2, kMap = 3, kOptional = 6 };

/// OrtTypeInfo; also OrtSequenceTypeInfo, OrtMapTypeInfo and OrtOptionalTypeInfo.
struct TypeInfo {
  ValueKind kind = ValueKind::kTensor;
  TensorType tensor = {};
  uint32_t key = 0;  ///< element type of a map's keys
  std::shared_ptr<const TypeInfo> inner =
      {};  ///< of a sequence's elements, a map's values, an optional
};

}  // namespace gantry::ort
