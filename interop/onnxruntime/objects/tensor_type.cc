// SPDX-License-Identifier: Apache-2.0
#include "objects/tensor_type.h"

#include <algorithm>

#include "objects/api_table.h"
#include "objects/status.h"

namespace gantry::ort {
namespace {

Status* get_tensor_type(const TypeInfo* info, const TensorType** out) {
  *out = info->kind == ValueKind::kTensor ? &info->tensor : nullptr;
  return nullptr;
}
template <ValueKind kKind>
Status* cast_type_info(const TypeInfo* info, const TypeInfo** out) {
  *out = info->kind == kKind ? info : nullptr;
  return nullptr;
}
Status* get_kind(const TypeInfo* info, ValueKind* out) {
  *out = info->kind;
  return nullptr;
}
Status* get_denotation(const TypeInfo*, const char** out, size_t* length) {
  *out = "";
  *length = 0;
  return nullptr;
}
Status* get_inner_type(const TypeInfo* info, TypeInfo** out) {
  return guarded([&] { *out = new TypeInfo(*info->inner); });
}
Status* get_key_type(const TypeInfo* info, uint32_t* out) {
  *out = info->key;
  return nullptr;
}
void release_type_info(TypeInfo* info) { delete info; }
void keep_type_info(const TypeInfo*) {}  // a cast one is part of the one that was cast

Status* create_type(TensorType** out) {
  return guarded([&] { *out = new TensorType; });
}
void release_type(TensorType* type) { delete type; }

Status* set_element_type(TensorType* type, int api_type) {
  type->dtype = dtype_of(api_type);
  return nullptr;
}
Status* set_dimensions(TensorType* type, const int64_t* extents, size_t count) {
  return guarded([&] { type->shape.assign(extents, extents + count); });
}
Status* get_element_type(const TensorType* type, int* out) {
  *out = api_type_of(type->dtype);
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
Status* get_symbolic_dimensions(const TensorType* type, const char** names, size_t count) {
  for (size_t i = 0; i < count; ++i)
    names[i] = i < type->symbols.size() ? type->symbols[i].c_str() : "";
  return nullptr;
}
Status* set_symbolic_dimensions(TensorType* type, const char** names, size_t count) {
  return guarded([&] { type->symbols.assign(names, names + count); });
}
bool get_has_shape(const TensorType* type) { return type->has_shape; }
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
  table.set(Slot::kCastTypeInfoToTensorInfo, get_tensor_type);
  table.set(Slot::kCastTypeInfoToMapTypeInfo, cast_type_info<ValueKind::kMap>);
  table.set(Slot::kCastTypeInfoToSequenceTypeInfo, cast_type_info<ValueKind::kSequence>);
  table.set(Slot::kCastTypeInfoToOptionalTypeInfo, cast_type_info<ValueKind::kOptional>);
  table.set(Slot::kGetOnnxTypeFromTypeInfo, get_kind);
  table.set(Slot::kGetDenotationFromTypeInfo, get_denotation);
  table.set(Slot::kGetMapKeyType, get_key_type);
  table.set(Slot::kGetMapValueType, get_inner_type);
  table.set(Slot::kGetSequenceElementType, get_inner_type);
  table.set(Slot::kGetOptionalContainedTypeInfo, get_inner_type);
  table.set(Slot::kReleaseMapTypeInfo, keep_type_info);
  table.set(Slot::kReleaseSequenceTypeInfo, keep_type_info);
  table.set(Slot::kCreateTensorTypeAndShapeInfo, create_type);
  table.set(Slot::kSetTensorElementType, set_element_type);
  table.set(Slot::kSetDimensions, set_dimensions);
  table.set(Slot::kGetTensorElementType, get_element_type);
  table.set(Slot::kGetDimensionsCount, get_dimensions_count);
  table.set(Slot::kGetDimensions, get_dimensions);
  table.set(Slot::kGetSymbolicDimensions, get_symbolic_dimensions);
  table.set(Slot::kSetSymbolicDimensions, set_symbolic_dimensions);
  table.set(Slot::kTensorTypeAndShapeHasShape, get_has_shape);
  table.set(Slot::kGetTensorShapeElementCount, get_element_count);
  table.set(Slot::kReleaseTypeInfo, release_type_info);
  table.set(Slot::kReleaseTensorTypeAndShapeInfo, release_type);
}

}  // namespace gantry::ort
