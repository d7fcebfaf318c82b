// SPDX-License-Identifier: Apache-2.0
#include "objects/api_table.h"

#include <string>
#include <utility>

#include "objects/status.h"

namespace gantry::ort {
namespace {

template <size_t Index>
Status* is_not_there() noexcept {
  return guarded([] {
    throw ApiError(ErrorCode::kNotImplemented,
                   "function " + std::to_string(Index) +
                       " of ONNX Runtime's OrtApi, counted from 0, is "
                       "not there for libraries of operators in gantry");
  });
}

}  // namespace

ApiTable::ApiTable() {
  slots_ = []<size_t... Index>(std::index_sequence<Index...>) {
    return std::array<Function, kSlots>{reinterpret_cast<Function>(&is_not_there<Index>)...};
  }
  (std::make_index_sequence<kSlots>());
}

}  // namespace gantry::ort
