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
  /// A mapped file; null: borrowed from the caller of the import.
  std::shared_ptr<const void> owner;
};

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

/// The tensor as a value: a view of its payload, or decoded from the field that has its elements.
/// INVALID_MODEL: the number of elements or bytes does not match its shape.
ValueRef to_value(const onnx::TensorProto& tensor, const std::vector<Payload>& payloads);
/// The sparse tensor as a dense value.
ValueRef to_value(const onnx::SparseTensorProto& sparse, const std::vector<Payload>& payloads);

}  // namespace gantry
