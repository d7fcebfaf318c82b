// SPDX-License-Identifier: Apache-2.0
#include "plugin_ep/host_types.h"

#include <cstring>
#include <string>
#include <vector>

#include "c_api/borrow.h"
#include "objects/attribute_kind.h"
#include "objects/tensor_type.h"

namespace gantry::ort {
namespace {

std::vector<int64_t> shape_of(const HostApi& api, const host::TensorInfo* info) {
  std::vector<int64_t> shape(api.value<size_t>(Slot::kGetDimensionsCount, info));
  if (!shape.empty()) api.call(Slot::kGetDimensions, info, shape.data(), shape.size());
  return shape;
}

void fill_shape(const HostApi& api, const host::TensorInfo* info, onnx::TypeProto_Tensor& tensor) {
  if (!api.get<bool>(Slot::kTensorTypeAndShapeHasShape, info)) return;
  const std::vector<int64_t> shape = shape_of(api, info);
  std::vector<const char*> symbols(shape.size());
  if (!shape.empty()) api.call(Slot::kGetSymbolicDimensions, info, symbols.data(), symbols.size());
  onnx::TensorShapeProto& extents = *tensor.mutable_shape();
  for (size_t i = 0; i < shape.size(); ++i) {
    onnx::TensorShapeProto_Dimension& extent = *extents.add_dim();
    if (shape[i] >= 0) {
      extent.set_dim_value(shape[i]);
    } else if (symbols[i] && *symbols[i]) {
      extent.set_dim_param(symbols[i]);
    }
  }
}

void fill_type(const HostApi& api, const host::AnyType* info, onnx::TypeProto& type);

/// Fills the type of what a container holds, of which the API makes an object.
void fill_inner(const HostApi& api, Slot get, const host::AnyType* container,
                onnx::TypeProto& type) {
  const Owned<host::AnyType> inner(api, Slot::kReleaseTypeInfo,
                                   api.value<host::AnyType*>(get, container));
  fill_type(api, inner.get(), type);
}

void fill_type(const HostApi& api, const host::AnyType* info, onnx::TypeProto& type) {
  const auto as = [&](Slot cast) { return api.value<const host::AnyType*>(cast, info); };
  switch (api.value<ValueKind>(Slot::kGetOnnxTypeFromTypeInfo, info)) {
    case ValueKind::kTensor: {
      const auto* tensor =
          api.value<const host::TensorInfo*>(Slot::kCastTypeInfoToTensorInfo, info);
      type.mutable_tensor_type()->set_elem_type(
          static_cast<int>(dtype_of(api.value<int>(Slot::kGetTensorElementType, tensor))));
      fill_shape(api, tensor, *type.mutable_tensor_type());
      return;
    }
    case ValueKind::kSequence:
      fill_inner(api, Slot::kGetSequenceElementType, as(Slot::kCastTypeInfoToSequenceTypeInfo),
                 *type.mutable_sequence_type()->mutable_elem_type());
      return;
    case ValueKind::kOptional:
      fill_inner(api, Slot::kGetOptionalContainedTypeInfo,
                 as(Slot::kCastTypeInfoToOptionalTypeInfo),
                 *type.mutable_optional_type()->mutable_elem_type());
      return;
    case ValueKind::kMap: {
      const host::AnyType* map = as(Slot::kCastTypeInfoToMapTypeInfo);
      type.mutable_map_type()->set_key_type(api.value<int>(Slot::kGetMapKeyType, map));
      fill_inner(api, Slot::kGetMapValueType, map, *type.mutable_map_type()->mutable_value_type());
      return;
    }
    case ValueKind::kUnknown:
      return;
  }
}

/// The elements of an attribute as the API writes them. It says how many bytes there are when it is
/// given too few.
std::string bytes_of(const HostApi& api, const host::Attribute* attribute, AttributeKind kind) {
  std::string bytes(sizeof(int64_t), '\0');
  for (;;) {
    size_t needed = 0;
    auto* status = api.get<host::Status*>(Slot::kReadOpAttr, attribute, static_cast<int>(kind),
                                          bytes.data(), bytes.size(), &needed);
    if (needed <= bytes.size()) {
      api.expect_success(status);
      bytes.resize(needed);
      return bytes;
    }
    if (status) api.get<void>(Slot::kReleaseStatus, status);
    bytes.resize(needed);
  }
}

template <class T>
std::vector<T> elements_of(const std::string& bytes) {
  std::vector<T> all(bytes.size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * sizeof(T));
  return all;
}

/// Texts that each end with a null.
std::vector<std::string> texts_of(const std::string& bytes) {
  std::vector<std::string> all;
  for (size_t at = 0; at < bytes.size(); at += all.back().size() + 1)
    all.emplace_back(bytes.c_str() + at);
  return all;
}

Tensor strings_of(const HostApi& api, const host::AnyValue* value, std::vector<int64_t> shape,
                  size_t count) {
  std::vector<std::string> texts(count);
  for (size_t i = 0; i < count; ++i) {
    texts[i].resize(api.value<size_t>(Slot::kGetStringTensorElementLength, value, i));
    api.call(Slot::kGetStringTensorElement, value, texts[i].size(), i, texts[i].data());
  }
  return {std::move(shape), std::move(texts)};
}

}  // namespace

onnx::TypeProto type_of(const HostApi& api, const host::NamedValue* info) {
  onnx::TypeProto type;
  const auto* known = api.value<const host::AnyType*>(Slot::kGetValueInfoTypeInfo, info);
  if (known) fill_type(api, known, type);
  return type;
}

onnx::AttributeProto attribute_of(const HostApi& api, const host::Attribute* attribute) {
  onnx::AttributeProto made;
  made.set_name(api.text(Slot::kOpAttrGetName, attribute));
  const auto kind = api.value<AttributeKind>(Slot::kOpAttrGetType, attribute);
  const auto bytes = [&] { return bytes_of(api, attribute, kind); };
  switch (kind) {
    case AttributeKind::kInt:
      made.set_type(onnx::AttributeProto::INT);
      made.set_i(elements_of<int64_t>(bytes()).at(0));
      return made;
    case AttributeKind::kFloat:
      made.set_type(onnx::AttributeProto::FLOAT);
      made.set_f(elements_of<float>(bytes()).at(0));
      return made;
    case AttributeKind::kString:
      made.set_type(onnx::AttributeProto::STRING);
      made.set_s(bytes());
      return made;
    case AttributeKind::kInts:
      made.set_type(onnx::AttributeProto::INTS);
      for (const int64_t element : elements_of<int64_t>(bytes())) made.add_ints(element);
      return made;
    case AttributeKind::kFloats:
      made.set_type(onnx::AttributeProto::FLOATS);
      for (const float element : elements_of<float>(bytes())) made.add_floats(element);
      return made;
    case AttributeKind::kStrings:
      made.set_type(onnx::AttributeProto::STRINGS);
      for (const std::string& text : texts_of(bytes())) made.add_strings(text);
      return made;
    case AttributeKind::kTensor: {
      made.set_type(onnx::AttributeProto::TENSOR);
      const Owned<host::AnyValue> tensor(
          api, Slot::kReleaseValue,
          api.value<host::AnyValue*>(Slot::kOpAttrGetTensorAttributeAsOrtValue, attribute));
      *made.mutable_t() = message_of(api, tensor.get());
      return made;
    }
    default:
      break;
  }
  throw ApiError(ErrorCode::kNotImplemented,
                 "attribute " + made.name() + " is of a kind that ONNX Runtime does not hand out");
}

Tensor tensor_of(const HostApi& api, const host::AnyValue* value) {
  if (api.value<ValueKind>(Slot::kGetValueType, value) != ValueKind::kTensor)
    throw ApiError(ErrorCode::kNotImplemented, "expected a tensor, found a value of another kind");
  const Owned<host::TensorInfo> info(
      api, Slot::kReleaseTensorTypeAndShapeInfo,
      api.value<host::TensorInfo*>(Slot::kGetTensorTypeAndShape, value));
  const auto dtype =
      static_cast<DType>(dtype_of(api.value<int>(Slot::kGetTensorElementType, info.get())));
  std::vector<int64_t> shape = shape_of(api, info.get());
  if (dtype == DType::kString) {
    return strings_of(api, value, std::move(shape),
                      api.value<size_t>(Slot::kGetTensorShapeElementCount, info.get()));
  }
  // Of a value that is only read, too: the run does not write to its inputs.
  return borrow_or_copy(dtype, std::move(shape),
                        api.value<void*>(Slot::kGetTensorMutableData, value));
}

onnx::TensorProto message_of(const HostApi& api, const host::AnyValue* value) {
  const Tensor tensor = tensor_of(api, value);
  onnx::TensorProto made;
  made.set_data_type(static_cast<int>(tensor.dtype()));
  for (const int64_t extent : tensor.shape()) made.add_dims(extent);
  if (tensor.dtype() == DType::kString) {
    for (const std::string& text : tensor.strings()) made.add_string_data(text);
  } else if (tensor.size_bytes() > 0) {
    made.set_raw_data(tensor.data(), tensor.size_bytes());
  }
  return made;
}

}  // namespace gantry::ort
