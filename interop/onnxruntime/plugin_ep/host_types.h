// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's types, attributes and tensors as messages of ONNX and tensors of gantry. Any
// thread.
#pragma once

#include <gantry/tensor.h>

#include <onnx/onnx_pb.h>

#include "plugin_ep/host_api.h"

namespace gantry::ort {

namespace onnx = ONNX_NAMESPACE;

/// What ONNX Runtime knows of a value's type; without a case: nothing.
onnx::TypeProto type_of(const HostApi& api, const host::NamedValue* info);

/// An attribute. ApiError: of a kind that the API does not hand out; bodies are none of them.
onnx::AttributeProto attribute_of(const HostApi& api, const host::Attribute* attribute);

/// A tensor in host memory: over the value's own elements, or a copy of strings and of elements
/// that are not aligned as gantry needs. ApiError: no tensor.
Tensor tensor_of(const HostApi& api, const host::AnyValue* value);

/// The same as a message, with its elements.
onnx::TensorProto message_of(const HostApi& api, const host::AnyValue* value);

}  // namespace gantry::ort
