// SPDX-License-Identifier: Apache-2.0
// Element type and shape of a tensor, as the API hands them out. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gantry::ort {

/// OrtTensorTypeAndShapeInfo; also OrtTypeInfo, as all values here are tensors. The numbers of
/// ONNXTensorElementDataType are those of gantry_dtype.
struct TensorType {
  uint32_t dtype = 0;
  std::vector<int64_t> shape;  ///< -1: an extent that is not known

  /// The number of elements; ApiError if an extent is not known or the number is too large.
  [[nodiscard]] size_t element_count() const;
};

}  // namespace gantry::ort
