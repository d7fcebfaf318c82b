// SPDX-License-Identifier: Apache-2.0
// The maps of a sequence that were made together: the rows of one table of values, with the same
// keys. They stay a table until somebody asks for one of them. Immutable, any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "base/value.h"

namespace gantry {

class MapRows {
 public:
  /// keys: [C]; values: [N, C], numbers of whole bytes. Requires both to be shared already (see
  /// share()). INVALID_ARGUMENT: other shapes, or another element type.
  MapRows(ValueRef keys, ValueRef values);

  [[nodiscard]] size_t count() const { return static_cast<size_t>(values_->shape[0]); }
  [[nodiscard]] const ValueRef& keys() const { return keys_; }
  [[nodiscard]] const ValueRef& values() const { return values_; }
  /// The maps one by one, views of the table; made when first asked for.
  [[nodiscard]] const std::vector<ValueRef>& maps() const;

 private:
  ValueRef keys_;
  ValueRef values_;
  mutable std::once_flag are_made_;
  mutable std::vector<ValueRef> maps_;
};

}  // namespace gantry
