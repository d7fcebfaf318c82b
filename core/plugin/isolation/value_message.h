// SPDX-License-Identifier: Apache-2.0
// Values in messages: tensors whose elements lie in the message or in memory that both sides map,
// named by an offset, and strings, sequences, optionals and maps of them. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/value.h"
#include "plugin/isolation/message.h"

namespace gantry {

/// Where the elements of a tensor are.
struct DataPlace {
  static constexpr uint64_t kInline = 0;  ///< in the message itself
  static constexpr uint64_t kArena = 1;   ///< in the arena; larger numbers name segments
  uint64_t where = kInline;
  uint64_t offset = 0;
};

/// Chooses a place for a tensor's elements, and brings them there.
using PlaceData = std::function<DataPlace(const gantry_tensor&)>;

void write_tensor(MessageWriter& to, const gantry_tensor& tensor, const DataPlace& place);
void write_value(MessageWriter& to, const gantry_value& value, const PlaceData& place);

/// The memory at a place, with what keeps it. Throws if there are no such `size_bytes`.
using FindData = std::function<std::shared_ptr<const void>(const DataPlace&, uint64_t size_bytes)>;

/// INTERNAL: what was read is no value: an unknown kind or type, a shape that does not fit.
ValueRef read_value(MessageReader& from, const FindData& find);

}  // namespace gantry
