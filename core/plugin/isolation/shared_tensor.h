// SPDX-License-Identifier: Apache-2.0
// Tensors in memory that a worker process sees: its provider reads and fills them in place.
#pragma once

#include <memory>
#include <vector>

#include "base/value.h"
#include "plugin/isolation/shared_arena.h"

namespace gantry {

/// As make_tensor, in `arena`; small ones, which cost next to nothing to copy, have memory of the
/// heap. Any thread. INVALID_ARGUMENT, OUT_OF_MEMORY.
ValueRef make_tensor_in(const std::shared_ptr<SharedArena>& arena, DType dtype,
                        std::vector<int64_t> shape);

}  // namespace gantry
