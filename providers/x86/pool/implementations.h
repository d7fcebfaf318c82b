// SPDX-License-Identifier: Apache-2.0
// The implementation of a pool that is this provider's own code; pool.cc lists it before the
// library's.
#pragma once

#include "fuse/implementation.h"

namespace gantry::x86 {

/// Compiled loops, channels-last: maxima of f32, of which the library loses NaN and infinity, and
/// means of f32 over images of open size, for each of which the library would make code.
Made make_loops_pool(const KernelArgs& args);

}  // namespace gantry::x86
