// SPDX-License-Identifier: Apache-2.0
// Large copies from pageable host memory. The driver stages them on the calling thread alone, far
// below the speed of the link; several threads that stage parts of them come near it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/device.h"

namespace gantry::cuda {

/// Copies `size_bytes` to device memory at `target`, ordered on the stream as a copy that is
/// enqueued now. The source may change when it returns. Starts threads that end before it returns.
/// False: nothing was copied, because there is no pinned memory for it. DEVICE_ERROR, DEVICE_LOST:
/// a part of it may have been copied.
bool copy_in_parts(Device& device, StreamHandle stream, Address target, const std::byte* source,
                   uint64_t size_bytes);

}  // namespace gantry::cuda
