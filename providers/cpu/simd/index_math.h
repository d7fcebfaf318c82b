// SPDX-License-Identifier: Apache-2.0
// Operations on index tensors, with SIMD. Highway selects the instruction set on the first call.
// Pure, any thread; outputs must not overlap inputs.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// wrapped[i] = indices[i], plus `extent` if it is negative. Returns false if an index is outside
/// [-extent, extent); its result is then any value in [0, extent). Requires 0 < extent < 2^31.
bool wrap_indices(const int64_t* indices, int64_t count, int64_t extent, int32_t* wrapped);
bool wrap_indices(const int32_t* indices, int64_t count, int64_t extent, int32_t* wrapped);

/// The greatest index as an unsigned number, so that negative indices exceed all others; 0 if
/// `count` is 0.
uint64_t greatest_index(const int64_t* indices, int64_t count);

/// y[row * count + i] = x[row * columns + selected[i]]. Requires 0 <= selected[i] < columns < 2^31.
void take_columns(const uint32_t* x, int64_t rows, int64_t columns, const int32_t* selected,
                  int64_t count, uint32_t* y);
void take_columns(const uint64_t* x, int64_t rows, int64_t columns, const int32_t* selected,
                  int64_t count, uint64_t* y);

}  // namespace gantry::cpu::simd
