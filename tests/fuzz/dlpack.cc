// SPDX-License-Identifier: Apache-2.0
// Tensors of other libraries, as DLPack describes them: what is taken has all of its elements in a
// range of addresses that can be counted, and shows no fault of its numbers.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "../../python/src/dlpack_check.h"
#include "fuzz_target.h"

namespace gantry::python {
namespace {

__extension__ using Wide = __int128;  // in which nothing here overflows

// By the definition of strides, element by element axis.
void require_range(const DlpackTensor& tensor) {
  const Wide element_bytes = (Wide{tensor.bits} * tensor.lanes + 7) / 8;
  Wide lowest = reinterpret_cast<uintptr_t>(tensor.data);
  lowest += tensor.byte_offset;
  Wide highest = lowest + element_bytes;
  Wide dense = 1;
  for (int32_t axis = tensor.ndim; axis-- > 0;) {
    if (tensor.shape[axis] < 0) std::abort();
    if (tensor.shape[axis] == 0) return;
    const Wide stride = tensor.strides ? Wide{tensor.strides[axis]} : dense;
    const Wide reach = stride * (tensor.shape[axis] - 1) * element_bytes;
    (reach < 0 ? lowest : highest) += reach;
    dense *= tensor.shape[axis];
  }
  if (!tensor.data || lowest < 0 || highest > Wide{UINT64_MAX}) std::abort();
}

}  // namespace
}  // namespace gantry::python

// A flag for each pointer that is not null, the numbers of the tensor, shape and strides.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using gantry::python::DlpackTensor;
  struct Numbers {
    uint64_t address;
    uint64_t byte_offset;
    int32_t ndim;
    uint16_t lanes;
    uint8_t bits;
    uint8_t pointers;
  } numbers = {};
  if (size < sizeof(numbers)) return 0;
  std::memcpy(&numbers, data, sizeof(numbers));
  constexpr size_t kMostAxes = 64;
  std::array<int64_t, 2 * kMostAxes> extents = {};
  std::memcpy(extents.data(), data + sizeof(numbers),
              std::min(size - sizeof(numbers), sizeof(extents)));
  DlpackTensor tensor;
  tensor.data = reinterpret_cast<void*>(numbers.address);
  tensor.ndim = numbers.ndim;
  tensor.lanes = numbers.lanes;
  tensor.bits = numbers.bits;
  tensor.byte_offset = numbers.byte_offset;
  if ((numbers.pointers & 1) != 0) tensor.shape = extents.data();
  // Behind the shape.
  const size_t axes = std::min<size_t>(static_cast<uint32_t>(numbers.ndim), kMostAxes);
  if ((numbers.pointers & 2) != 0) tensor.strides = extents.data() + axes;
  if (gantry::python::fault_of(tensor).empty()) gantry::python::require_range(tensor);
  return 0;
}
