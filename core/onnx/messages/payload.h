// SPDX-License-Identifier: Apache-2.0
// Payloads: the bytes of large tensors, held outside the model's messages as views of mapped files.
// A tensor without its bytes (a placeholder) names its payload in its doc_string. The scanner
// removes all doc_strings of a model's tensors, so that none can be forged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/value.h"
#include "onnx/messages/proto.h"

namespace gantry {

/// Bytes in the layout of raw_data: little endian, dense, packed types packed.
struct Payload {
  const std::byte* data = nullptr;
  uint64_t size_bytes = 0;
  /// Keeps the bytes alive; null: borrowed from the caller of the import.
  std::shared_ptr<const void> owner;
  bool is_mapped = false;  ///< they are in a file mapped read-only, which is the owner
};

/// Tensors with more bytes are payloads, others are left in the model's messages. Shape inference
/// reads integers: shapes, axes and indices.
constexpr uint64_t most_kept_bytes(DType dtype) {
  const bool is_index = dtype == DType::kInt32 || dtype == DType::kInt64;
  return is_index ? uint64_t{64} << 10 : uint64_t{1} << 10;
}

/// A model, and the bytes of its large tensors. Borrowed.
struct ModelParts {
  const onnx::ModelProto& proto;
  const std::vector<Payload>& payloads;
};

/// The doc_string of a tensor whose payload has that index.
std::string placeholder_text(size_t payload);
/// True if the tensor's bytes are a payload.
bool is_placeholder(const onnx::TensorProto& tensor);
/// The payload of a tensor. INTERNAL: the tensor is no placeholder.
const Payload& payload_of(const onnx::TensorProto& tensor, const std::vector<Payload>& payloads);

/// INVALID_MODEL: the tensor's element type is unknown; the message names the tensor.
void check_type(const onnx::TensorProto& tensor);
/// Bytes that the tensor's shape and element type need. INVALID_MODEL: a type that is unknown or
/// has no fixed size, or a shape that is negative or too large; the message names the tensor.
uint64_t payload_bytes_needed(const onnx::TensorProto& tensor);

/// Puts a tensor in host memory in place of the bytes of `tensor`, which must have its element type
/// and shape. A payload shares the value's memory.
void set_value(onnx::TensorProto& tensor, const ValueRef& value, std::vector<Payload>& payloads);

/// The tensor as a value: a view of its payload, or decoded from the field that has its elements.
/// INVALID_MODEL: the number of elements or bytes does not match its shape.
ValueRef to_value(const onnx::TensorProto& tensor, const std::vector<Payload>& payloads);
/// The sparse tensor as a dense value.
ValueRef to_value(const onnx::SparseTensorProto& sparse, const std::vector<Payload>& payloads);

}  // namespace gantry
