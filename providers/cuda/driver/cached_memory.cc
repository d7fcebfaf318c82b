// SPDX-License-Identifier: Apache-2.0
#include "driver/cached_memory.h"

#include "driver/device.h"

namespace gantry::cuda {

CachedMemory::CachedMemory(Device& device, uint64_t size_bytes)
    : device_(device), memory_(device.allocate(size_bytes)) {}

CachedMemory::~CachedMemory() { device_.free(memory_); }

}  // namespace gantry::cuda
