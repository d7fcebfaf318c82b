// SPDX-License-Identifier: Apache-2.0
// Tensors in memory that a worker process sees: its provider reads and fills them in place.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/value.h"
#include "plugin/isolation/shared_arena.h"

namespace gantry {

/// Whether kernels may take addresses, counts or shapes from tensors of that type: integers of more
/// than 8 bits, and bools. Of these the application reads nothing that a worker process can write
/// to, which could change between a kernel's check and its use. Of others a worker can change
/// numbers only.
bool may_hold_indices(DType dtype);
/// Tensors of fewer bytes, among them the scales and limits from which kernels take shapes, are
/// copied to a worker and back.
inline constexpr uint64_t kLeastSharedBytes = uint64_t{16} << 10;

/// As make_tensor, in `arena`; below kLeastSharedBytes, and of types that may hold indices, in
/// memory of the heap. Any thread. INVALID_ARGUMENT, OUT_OF_MEMORY.
ValueRef make_tensor_in(const std::shared_ptr<SharedArena>& arena, DType dtype,
                        std::vector<int64_t> shape);

}  // namespace gantry
