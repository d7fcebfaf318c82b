// SPDX-License-Identifier: Apache-2.0
// A step of an LSTM, a GRU or an RNN in f32: the product of the last results with the recurrent
// weights and all that is done to its sums, while they are in registers. Written once with Highway
// for all instruction sets, see simd/instructions.h. Pure functions, from any thread.
#pragma once

#include <cstdint>

#include "recurrent/step.h"

namespace gantry::x86 {

/// Units [begin, end) * kUnitBlock.
void run_step(const RecurrentStep& step, int64_t begin, int64_t end);

}  // namespace gantry::x86
