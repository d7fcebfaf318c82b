// SPDX-License-Identifier: Apache-2.0
#include "kept_memory.h"

#include "device.h"

namespace gantry::cuda {

KeptMemory::KeptMemory(Device& device, uint64_t size_bytes)
    : device_(device), memory_(device.allocate(size_bytes)) {}

KeptMemory::~KeptMemory() { device_.free(memory_); }

}  // namespace gantry::cuda
