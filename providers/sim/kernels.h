// SPDX-License-Identifier: Apache-2.0
// The operators of the simulated device. A kernel's run only queues; the arithmetic happens on the
// stream's thread, in the real memory behind the device addresses.
#pragma once

#include <gantry/sdk/rows.h>

#include <vector>

namespace gantry::sim {

std::vector<sdk::KernelTable> all_kernels();

}  // namespace gantry::sim
