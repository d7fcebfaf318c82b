// SPDX-License-Identifier: Apache-2.0
// The operators of the simulated device, in f32. A kernel's run() only enqueues work; the stream's
// thread computes it later, in the real memory behind the device addresses (memory.h).
#pragma once

#include <gantry/sdk/rows.h>

#include <vector>

namespace gantry::sim {

std::vector<sdk::KernelTable> all_kernels();

}  // namespace gantry::sim
