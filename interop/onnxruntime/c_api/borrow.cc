// SPDX-License-Identifier: Apache-2.0
#include "c_api/borrow.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace gantry::ort {
namespace {

/// What gantry asks of the address of borrowed elements.
size_t alignment_of(DType dtype) {
  constexpr uint32_t kByteBits = 8;
  constexpr uint32_t kMost = 8;
  return std::clamp<uint32_t>(bits_of(dtype) / kByteBits, 1, kMost);
}

}  // namespace

Tensor borrow_or_copy(DType dtype, std::vector<int64_t> shape, void* data,
                      std::shared_ptr<const void> owner) {
  const uint64_t bytes = bytes_of(dtype, element_count(shape));
  if (reinterpret_cast<uintptr_t>(data) % alignment_of(dtype) == 0)
    return Tensor::borrow(dtype, std::move(shape), data, bytes, std::move(owner));
  Tensor copy(dtype, std::move(shape));
  std::memcpy(copy.data(), data, bytes);
  return copy;
}

}  // namespace gantry::ort
