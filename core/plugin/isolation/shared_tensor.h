// SPDX-License-Identifier: Apache-2.0
// Tensors in memory shared with a worker process, whose provider reads and writes them in place.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/value.h"
#include "plugin/isolation/shared_arena.h"

namespace gantry {

/// Whether kernels may use elements of the type as indices, counts or extents: integers of more
/// than 8 bits, and bools. The application never reads such tensors in shared memory, because a
/// worker could change them between a kernel's check and its use. In tensors of other types a
/// worker can only change results.
bool may_hold_indices(DType dtype);
/// Smaller tensors are copied to a worker and back. Among them are scales and limits from which
/// kernels compute shapes.
inline constexpr uint64_t kLeastSharedBytes = uint64_t{16} << 10;

/// As make_tensor, but in `arena`; on the heap if the tensor is smaller than kLeastSharedBytes or
/// may hold indices. Any thread. INVALID_ARGUMENT, OUT_OF_MEMORY.
ValueRef make_tensor_in(const std::shared_ptr<SharedArena>& arena, DType dtype,
                        std::vector<int64_t> shape);

}  // namespace gantry
