// SPDX-License-Identifier: Apache-2.0
// Strided copy, the loop nest of most kernels that move data. It merges axes that are contiguous on
// both sides, uses memcpy for contiguous runs, copies transposed planes in tiles, and splits large
// copies over the threads of the run.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>

namespace gantry::cpu {

/// Copies `extents.element_count()` units of `unit_bytes` (1, 2, 4, 8 or 16) bytes. Strides are in
/// units and may be 0 (source only) or negative; `source` and `target` point to the first
/// unit. The two regions must not overlap.
void copy_strided(sdk::Call& call, int64_t unit_bytes, sdk::Shape extents, const void* source,
                  const int64_t* source_strides, void* target, const int64_t* target_strides);

/// memcpy on the threads of the run if `bytes` is large; does nothing if the pointers are equal.
void copy_bytes(sdk::Call& call, void* target, const void* source, int64_t bytes);

}  // namespace gantry::cpu
