// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/shared_tensor.h"

#include <utility>

namespace gantry {

ValueRef make_tensor_in(const std::shared_ptr<SharedArena>& arena, DType dtype,
                        std::vector<int64_t> shape) {
  // A block is whole pages, and a small tensor would keep one to itself.
  constexpr uint64_t kSmall = 16 * 1024;
  if (bits_of(dtype) == 0) return make_tensor(dtype, std::move(shape));
  const uint64_t size_bytes = bytes_of(dtype, element_count(shape));
  if (size_bytes < kSmall) return make_tensor(dtype, std::move(shape));
  auto block = std::make_shared<SharedArena::Block>(arena->allocate(size_bytes));
  const void* data = block->data();
  return view_tensor(dtype, std::move(shape), data, size_bytes, std::move(block));
}

}  // namespace gantry
