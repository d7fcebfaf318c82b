// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/shared_tensor.h"

#include <utility>

namespace gantry {

bool may_hold_indices(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kInt16:
    case DType::kUint16:
    case DType::kInt32:
    case DType::kUint32:
    case DType::kInt64:
    case DType::kUint64:
      return true;
    default:
      return false;
  }
}

ValueRef make_tensor_in(const std::shared_ptr<SharedArena>& arena, DType dtype,
                        std::vector<int64_t> shape) {
  if (bits_of(dtype) == 0 || may_hold_indices(dtype)) return make_tensor(dtype, std::move(shape));
  const uint64_t size_bytes = bytes_of(dtype, element_count(shape));
  if (size_bytes < kLeastSharedBytes) return make_tensor(dtype, std::move(shape));
  auto block = std::make_shared<SharedArena::Block>(arena->allocate(size_bytes));
  const void* data = block->data();
  return view_tensor(dtype, std::move(shape), data, size_bytes, std::move(block));
}

}  // namespace gantry
