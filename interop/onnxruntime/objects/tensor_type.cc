// SPDX-License-Identifier: Apache-2.0
#include "objects/tensor_type.h"

#include <algorithm>

#include "objects/api_table.h"
#include "objects/status.h"

namespace gantry::ort {
namespace {

constexpr int kIsTensor = 1;  // ONNXType

Status* cast_type_info(const TensorType* info, const TensorType** out) {
  *out = info;
  return nullptr;
}
Status* get_onnx_type(const TensorType*, int* out) {
  *out = kIsTensor;
  return nullptr;
}
Status* create_type(TensorType** out) {
  return guarded([&] { *out = new TensorType; });
}
void release_type(TensorType* type) { delete type; }

Status* set_element_type(TensorType* type, int dtype) {
  type->dtype = static_cast<uint32_t>(dtype);
  return nullptr;
}
Status* set_dimensions(TensorType* type, const int64_t* extents, size_t count) {
  return guarded([&] { type->shape.assign(extents, extents + count); });
}
Status* get_element_type(const TensorType* type, int* out) {
  *out = static_cast<int>(type->dtype);
  return nullptr;
}
Status* get_dimensions_count(const TensorType* type, size_t* out) {
  *out = type->shape.size();
  return nullptr;
}
Status* get_dimensions(const TensorType* type, int64_t* extents, size_t count) {
  std::copy_n(type->shape.data(), std::min(count, type->shape.size()), extents);
  return nullptr;
}
Status* get_symbolic_dimensions(const TensorType*, const char** names, size_t count) {
  std::fill_n(names, count, "");
  return nullptr;
}
Status* get_element_count(const TensorType* type, size_t* out) {
  return guarded([&] { *out = type->element_count(); });
}

}  // namespace

size_t TensorType::element_count() const {
  size_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, static_cast<size_t>(extent), &count)) {
      throw ApiError(ErrorCode::kInvalidArgument,
                     "a shape must have extents of 0 or more and less than 2^64 elements");
    }
  }
  return count;
}

void add_type_functions(ApiTable& table) {
  table.set(Slot::kCastTypeInfoToTensorInfo, cast_type_info);
  table.set(Slot::kGetOnnxTypeFromTypeInfo, get_onnx_type);
  table.set(Slot::kCreateTensorTypeAndShapeInfo, create_type);
  table.set(Slot::kSetTensorElementType, set_element_type);
  table.set(Slot::kSetDimensions, set_dimensions);
  table.set(Slot::kGetTensorElementType, get_element_type);
  table.set(Slot::kGetDimensionsCount, get_dimensions_count);
  table.set(Slot::kGetDimensions, get_dimensions);
  table.set(Slot::kGetSymbolicDimensions, get_symbolic_dimensions);
  table.set(Slot::kGetTensorShapeElementCount, get_element_count);
  table.set(Slot::kReleaseTypeInfo, release_type);
  table.set(Slot::kReleaseTensorTypeAndShapeInfo, release_type);
}

}  // namespace gantry::ort
