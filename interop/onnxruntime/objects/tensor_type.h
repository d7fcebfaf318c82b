// SPDX-License-Identifier: Apache-2.0
// The types of values, as the API hands them out. Plain data.
#pragma once

#include <gantry/provider.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gantry::ort {

/// The gantry_dtype of an ONNXTensorElementDataType. The numbers are the same up to 23; the three
/// behind stand in another order than in ONNX.
constexpr uint32_t dtype_of(int api_type) {
  constexpr int kFirst = 24;
  constexpr uint32_t kOrder[] = {GANTRY_UINT2, GANTRY_INT2, GANTRY_FLOAT8E8M0};
  const bool is_moved = api_type >= kFirst && api_type < kFirst + 3;
  return is_moved ? kOrder[api_type - kFirst] : static_cast<uint32_t>(api_type);
}
/// The ONNXTensorElementDataType of a gantry_dtype.
constexpr int api_type_of(uint32_t dtype) {
  for (const int type : {24, 25, 26}) {
    if (dtype_of(type) == dtype) return type;
  }
  return static_cast<int>(dtype);
}

/// OrtTensorTypeAndShapeInfo.
struct TensorType {
  uint32_t dtype = 0;                     ///< gantry_dtype
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
