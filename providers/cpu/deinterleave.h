// SPDX-License-Identifier: Apache-2.0
// Elements of 2 to 4 streams that stand in turns, taken apart in vectors. Chosen for the machine's
// instruction set when first called. Pure, any thread.
#pragma once

#include <cstdint>

namespace gantry::cpu {

/// Unit i of stream s goes from unit i * ways + s of `x` to unit i behind y + s * pitch; `count`
/// units of each. Requires unit_bytes 1 or 4, `ways` 2 to 4, no overlap; `pitch` in bytes, no
/// alignment is needed.
void deinterleave(const char* x, int unit_bytes, int64_t ways, int64_t count, char* y,
                  int64_t pitch);

}  // namespace gantry::cpu
