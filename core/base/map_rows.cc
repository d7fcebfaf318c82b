// SPDX-License-Identifier: Apache-2.0
// Reads a table of values as the maps of a sequence.
#include <gantry/error.h>

#include <memory>
#include <mutex>
#include <utility>

#include "base/value.h"

namespace gantry {

MapRows::MapRows(ValueRef keys, ValueRef values)
    : keys_(std::move(keys)), values_(std::move(values)) {
  const bool fits = keys_->shape.size() == 1 && values_->shape.size() == 2 &&
                    keys_->shape[0] == values_->shape[1] && bits_of(values_->dtype) >= 8;
  if (!fits) {
    throw Error(Code::kInvalidArgument,
                "maps in rows need keys [C] and values [N, C] of whole bytes; found " +
                    describe(*keys_) + " and " + describe(*values_));
  }
}

const std::vector<ValueRef>& MapRows::maps() const {
  std::call_once(are_made_, [this] {
    const std::vector<int64_t> width = keys_->shape;
    const uint64_t row_bytes = bytes_of(values_->dtype, width[0]);
    std::vector<ValueRef> maps;
    maps.reserve(count());
    for (size_t i = 0; i < count(); ++i) {
      auto map = std::make_shared<gantry_value>();
      map->kind = GANTRY_KIND_MAP;
      map->dtype = values_->dtype;
      const auto* row = static_cast<const std::byte*>(values_->view.data) + i * row_bytes;
      map->items = {keys_, view_tensor(values_->dtype, width, row, row_bytes, values_->owner)};
      maps.push_back(std::move(map));
    }
    maps_ = std::move(maps);
  });
  return maps_;
}

}  // namespace gantry
