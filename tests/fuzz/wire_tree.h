// SPDX-License-Identifier: Apache-2.0
// Protobuf messages as trees of fields, without their schema: what the mutator of models edits.
// libprotobuf-mutator needs protobuf's reflection, which the onnx library is built without.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry::fuzz {

/// A field as it is on the wire (protobuf's encoding, wire types 0, 1, 2 and 5).
struct WireField {
  uint32_t number = 0;
  uint32_t wire_type = 0;
  uint64_t value = 0;              ///< wire types 0, 1 and 5
  std::string text;                ///< wire type 2, if it is no message
  std::vector<WireField> message;  ///< wire type 2, if its bytes can be read as fields
  bool is_message = false;
};

using WireMessage = std::vector<WireField>;

/// Nothing: the bytes are no sequence of fields. Bytes of a field that can be read as a message are
/// one, but for printable text, up to 32 levels deep.
std::optional<WireMessage> read_message(std::span<const uint8_t> bytes);

std::string write_message(const WireMessage& message);

/// Changes the tree in one place, drawn from `random`: a field is removed, doubled, moved, put in
/// another message, replaced by one of `donor` with the same number, or gets another value; texts
/// are mostly replaced by other texts of the tree, so that names meet.
void mutate_message(WireMessage& message, const WireMessage& donor, uint64_t random);

}  // namespace gantry::fuzz
