// SPDX-License-Identifier: Apache-2.0
// Deinterleaves 2 to 4 streams of elements with SIMD. Highway selects the instruction set on the
// first call. Pure, any thread.
#pragma once

#include <cstdint>

namespace gantry::cpu {

/// y[s][i] = x[i][s]. x: [count, streams], dense; y: [streams, count], rows `pitch` bytes apart.
/// Requires elements of 1 or 4 bytes, 2 to 4 streams, no overlap; no alignment.
void deinterleave(const char* x, int element_bytes, int64_t streams, int64_t count, char* y,
                  int64_t pitch);

}  // namespace gantry::cpu
