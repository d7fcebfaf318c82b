// SPDX-License-Identifier: Apache-2.0
// Validates a DLPack tensor of another library before its memory is accessed. Independent of
// Python. Any thread.
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

/// DLManagedTensorVersioned of dlpack.h, to which a capsule "dltensor_versioned" points.
struct DlpackVersioned {
  uint32_t major_version = 1;
  uint32_t minor_version = 0;
  void* manager = nullptr;
  void (*deleter)(DlpackVersioned* self) = nullptr;
  uint64_t flags = 0;
  DlpackTensor tensor;
};
static_assert(sizeof(DlpackVersioned) == 32 + sizeof(DlpackTensor));

/// Describes what is wrong with a tensor: "-1 axes, where 0 to 64 are taken". Empty if nothing is
/// found; the elements are then in a range of addresses that does not wrap around. Whether that
/// range is valid memory cannot be checked.
std::string fault_of(const DlpackTensor& tensor);

}  // namespace gantry::python
