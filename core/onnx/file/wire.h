// SPDX-License-Identifier: Apache-2.0
// The scanner: reads a serialized ModelProto of any size field by field and writes the same model
// without the bytes of its large tensors, small enough for the onnx library. What it left out it
// lists as payloads, in place.
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

/// `owner` keeps `model` alive and is shared by the payloads. INVALID_MODEL: not the wire format,
/// truncated, or nested too deep; says at which byte. UNSUPPORTED: 2 GiB or more without the large
/// tensors.
StrippedModel strip_model(std::span<const std::byte> model, std::shared_ptr<const void> owner);

}  // namespace gantry
