// SPDX-License-Identifier: Apache-2.0
#include "dlpack_check.h"

namespace gantry::python {
namespace {

constexpr int32_t kMostAxes = 64;

// Byte range of all elements, relative to `data`. False if it overflows.
bool range_of(const DlpackTensor& tensor, int64_t element_bytes, int64_t& lowest,
              int64_t& highest) {
  int64_t dense = 1;
  lowest = 0;
  highest = element_bytes;
  for (int32_t axis = tensor.ndim; axis-- > 0;) {
    const int64_t extent = tensor.shape[axis];
    int64_t reach = tensor.strides ? tensor.strides[axis] : dense;
    if (__builtin_mul_overflow(dense, extent, &dense)) return false;
    if (extent == 1) continue;  // its stride is not used
    if (__builtin_mul_overflow(reach, extent - 1, &reach) ||
        __builtin_mul_overflow(reach, element_bytes, &reach))
      return false;
    int64_t& end = reach < 0 ? lowest : highest;
    if (__builtin_add_overflow(end, reach, &end)) return false;
  }
  return !__builtin_mul_overflow(dense, element_bytes, &dense);
}

}  // namespace

std::string fault_of(const DlpackTensor& tensor) {
  if (tensor.ndim < 0 || tensor.ndim > kMostAxes) {
    return std::to_string(tensor.ndim) + " axes, where 0 to " + std::to_string(kMostAxes) +
           " are taken";
  }
  if (tensor.ndim > 0 && !tensor.shape) return std::to_string(tensor.ndim) + " axes and no shape";
  bool is_empty = false;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    const int64_t extent = tensor.shape[axis];
    if (extent < 0)
      return "the extent " + std::to_string(extent) + " of axis " + std::to_string(axis);
    is_empty = is_empty || extent == 0;
  }
  if (is_empty) return {};
  if (!tensor.data) return "elements and no memory";
  const int64_t element_bytes = (int64_t{tensor.bits} * tensor.lanes + 7) / 8;
  const auto address = reinterpret_cast<uintptr_t>(tensor.data);
  int64_t lowest = 0;
  int64_t highest = 0;
  uint64_t first = 0;
  uint64_t end = 0;
  if (!range_of(tensor, element_bytes, lowest, highest) ||
      __builtin_add_overflow(address, tensor.byte_offset, &first) ||
      __builtin_add_overflow(first, highest, &end) || __builtin_add_overflow(first, lowest, &first))
    return "a shape, strides or an offset that reach beyond all memory";
  return {};
}

}  // namespace gantry::python
