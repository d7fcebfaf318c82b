// SPDX-License-Identifier: Apache-2.0
// Convolutions and products of int8 values on CPUs that have no instruction to add four
// products of bytes (VNNI). The one that older CPUs have adds two of them in 16 bits, where they
// saturate. Here weights of which few could make it saturate are parted so that none does
// (byte_panels.h); with others numbers become 16 bits wide, and two products are added in 32 bits.
// Sums are exact integers. Written once with Highway; which instructions are used follows from the
// CPU, or from ONEDNN_MAX_CPU_ISA, as with the library's own kernels. Pure functions, from any
// thread.
#pragma once

#include <cstdint>

#include "int8/widened_convolution.h"

namespace gantry::x86 {

/// Parts of the work, each by itself: some places of the target, and some of its channels.
int64_t widened_tasks_of(const WidenedConvolution& convolution, int64_t places);
/// Elements of the memory that a thread needs for itself.
int64_t widened_scratch_of(const WidenedConvolution& convolution);

/// The tasks [begin, end). `source`: [images, source, groups * channels]; `addend` (null: there is
/// none), `target`: [images, target, groups * results], which may be the same. `places`: of all
/// images of the target. `scratch`: widened_scratch_of() elements, of this call alone.
void convolve_widened(const WidenedConvolution& convolution, const uint8_t* source,
                      const uint8_t* addend, void* target, int64_t places, int64_t begin,
                      int64_t end, int16_t* scratch);

}  // namespace gantry::x86
