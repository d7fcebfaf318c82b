// SPDX-License-Identifier: Apache-2.0
// Serializes values: tensors, whose elements are in the message or at an offset of memory that both
// sides map; strings; sequences, optionals and maps. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/value.h"
#include "plugin/isolation/message.h"

namespace gantry {

/// The location of a tensor's elements.
struct DataPlace {
  static constexpr uint64_t kInline = 0;  ///< in the message itself
  static constexpr uint64_t kArena = 1;   ///< in the arena; larger values: ids of segments
  uint64_t where = kInline;
  uint64_t offset = 0;
};

/// Chooses a place for a tensor's elements, and copies them there if needed.
using PlaceData = std::function<DataPlace(const gantry_tensor&)>;

void write_tensor(MessageWriter& to, const gantry_tensor& tensor, const DataPlace& place);
void write_value(MessageWriter& to, const gantry_value& value, const PlaceData& place);

/// The memory at a place, with its owner. Throws if the place has no `size_bytes` bytes.
using FindData = std::function<std::shared_ptr<const void>(const DataPlace&, uint64_t size_bytes)>;

/// Reads what write_value wrote. INTERNAL: an unknown kind or type, or a shape that does not match
/// the data.
ValueRef read_value(MessageReader& from, const FindData& find);

}  // namespace gantry
