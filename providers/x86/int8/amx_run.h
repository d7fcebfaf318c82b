// SPDX-License-Identifier: Apache-2.0
// Runs an AMX convolution or matmul on the threads of a run.
#pragma once

#include <gantry/sdk/kernel.h>

#include "int8/amx.h"

namespace gantry::x86 {

/// Copies the source into the layout if need be and computes the target. `tensors.source`: [images,
/// source, channels]. Errors: OUT_OF_MEMORY.
void run_tiles(sdk::Call& call, const TileConvolution& convolution, const TileLayout& layout,
               TileTensors tensors);

}  // namespace gantry::x86
