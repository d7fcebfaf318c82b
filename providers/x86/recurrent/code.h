// SPDX-License-Identifier: Apache-2.0
// A step of an f32 LSTM, GRU or RNN: the product of the previous state with the recurrent weights,
// and the gate functions on its sums while they are in registers. Written once with Highway for all
// instruction sets (simd/instructions.h). Pure functions, from any thread.
#pragma once

#include <cstdint>

#include "recurrent/step.h"

namespace gantry::x86 {

/// Computes blocks [begin, end) of kUnitBlock hidden units.
void run_step(const RecurrentStep& step, int64_t begin, int64_t end);

}  // namespace gantry::x86
