// SPDX-License-Identifier: Apache-2.0
// Runs a convolution or a product in tiles of AMX on the threads of a run.
#pragma once

#include <gantry/sdk/kernel.h>

#include "int8/amx.h"

namespace gantry::x86 {

/// `tensors`: the source as it arrives, channels innermost. Errors: OUT_OF_MEMORY.
void run_tiles(sdk::Call& call, const TileConvolution& convolution, const TileLayout& layout,
               TileTensors tensors);

}  // namespace gantry::x86
