// SPDX-License-Identifier: Apache-2.0
// Host memory for data that live as long as a session (packed weights). It is mapped, not allocated
// on the heap, so that it goes back to the system when it is released and does not fragment the
// heap. It has huge pages, so that a model's weights need hundreds of pages, not tens of thousands.
#pragma once

#include <cstdint>
#include <memory>

namespace gantry {

/// `size_bytes` bytes, zero, aligned to 64 bytes. Small blocks share mappings, which live as long
/// as one of their blocks does. [any] OUT_OF_MEMORY.
std::shared_ptr<void> allocate_packed(uint64_t size_bytes);

}  // namespace gantry
