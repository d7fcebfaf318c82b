// SPDX-License-Identifier: Apache-2.0
// The scanner: reads a serialized ModelProto of any size field by field and writes the same model
// without the bytes of its large tensors, small enough for protobuf and the onnx library. The bytes
// left out are listed as payloads, which are views of the input.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "onnx/messages/payload.h"

namespace gantry {

struct StrippedModel {
  std::string bytes;  ///< a serialized ModelProto; training graphs and the doc_strings of tensors
                      ///< are left out too
  std::vector<Payload> payloads;
};

/// `owner`: keeps `model` alive; the payloads share it. INVALID_MODEL: not the wire format,
/// truncated, or nested too deep; the message has the byte offset. UNSUPPORTED: 2 GiB or more
/// without the large tensors.
StrippedModel strip_model(std::span<const std::byte> model, std::shared_ptr<const void> owner);

}  // namespace gantry
