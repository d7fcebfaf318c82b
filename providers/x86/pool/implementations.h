// SPDX-License-Identifier: Apache-2.0
// The implementation of pooling in this provider's own code. pool.cc lists it before oneDNN's.
#pragma once

#include "fuse/implementation.h"

namespace gantry::x86 {

/// Compiled loops, channels-last, f32: max pooling, where oneDNN loses NaN and infinity, and
/// average pooling with a dynamic spatial extent, where oneDNN would compile code for each size.
Made make_loops_pool(const KernelArgs& args);

}  // namespace gantry::x86
