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
    throw ApiError(ErrorCode::kNotImplemented, "function " + std::to_string(Index) +
                                                   " of ONNX Runtime's OrtApi, counted from 0, is "
                                                   "not there in gantry");
  });
}

// Functions that lead to other tables and functions return null where there is none, not a status.
const void* nothing() noexcept { return nullptr; }

}  // namespace

ApiTable::ApiTable() {
  slots_ = []<size_t... Index>(std::index_sequence<Index...>) {
    return std::array<Function, kSlots>{reinterpret_cast<Function>(&is_not_there<Index>)...};
  }
  (std::make_index_sequence<kSlots>());
  for (const Slot slot : {Slot::kGetTrainingApi, Slot::kGetModelEditorApi, Slot::kGetCompileApi,
                          Slot::kGetEpApi, Slot::kGetInteropApi, Slot::kGetExperimentalFunction})
    set(slot, nothing);
}

}  // namespace gantry::ort
