// SPDX-License-Identifier: Apache-2.0
// What can be wrong with a tensor that another library hands out through DLPack, and be seen before
// its memory is touched. Knows nothing of Python. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace gantry::python {

/// DLTensor of dlpack.h.
struct DlpackTensor {
  void* data = nullptr;
  int32_t device_type = 0;
  int32_t device_id = 0;
  int32_t ndim = 0;
  uint8_t code = 0;
  uint8_t bits = 0;
  uint16_t lanes = 0;
  const int64_t* shape = nullptr;    ///< [ndim]
  const int64_t* strides = nullptr;  ///< [ndim], of elements; null: dense
  uint64_t byte_offset = 0;
};
static_assert(sizeof(DlpackTensor) == 48);

/// What a capsule of the name "dltensor_versioned" points to, as far as it is read.
struct DlpackVersioned {
  uint32_t major_version = 1;
  uint32_t minor_version = 0;
  void* manager = nullptr;
  void (*deleter)(DlpackVersioned* self) = nullptr;
  uint64_t flags = 0;
  DlpackTensor tensor;
};
static_assert(sizeof(DlpackVersioned) == 32 + sizeof(DlpackTensor));

/// "-1 axes, where 0 to 64 are taken"; empty: nothing that shows. Its elements then lie in a range
/// of addresses that does not wrap around; whether that is memory nobody can tell.
std::string fault_of(const DlpackTensor& tensor);

}  // namespace gantry::python
