// SPDX-License-Identifier: Apache-2.0
// The loop nest under most kernels that move data: a box of units from one strided place to
// another. Axes that both sides walk as one are merged; contiguous runs become memcpy, transposed
// planes are copied in tiles, large boxes run in parallel.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>

namespace gantry::cpu {

/// Copies `extents.element_count()` units of `unit_bytes` (1, 2, 4, 8 or 16) bytes. Strides are in
/// units and may be 0 (source only) or negative; `source` and `target` are the places of the box's
/// first unit. The places must not overlap.
void copy_strided(sdk::Call& call, int64_t unit_bytes, sdk::Shape extents, const void* source,
                  const int64_t* source_strides, void* target, const int64_t* target_strides);

/// memcpy, in parallel if it is long; nothing if the pointers are equal.
void copy_bytes(sdk::Call& call, void* target, const void* source, int64_t bytes);

}  // namespace gantry::cpu
