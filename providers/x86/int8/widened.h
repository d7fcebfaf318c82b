// SPDX-License-Identifier: Apache-2.0
// int8 convolutions and matmuls on CPUs without VNNI, with exact sums. VPMADDUBSW, which those CPUs
// have, adds two products in 16 bits and saturates. Weights with few pairs that could saturate are
// packed so that none does (byte_panels.h); with VPDPBUSD (AVX-VNNI) none could. With other weights
// int8 is widened to int16, and two products are added in 32 bits. Written once with Highway for
// all instruction sets (simd/instructions.h). Pure functions, from any thread.
#pragma once

#include <cstdint>

#include "int8/widened_convolution.h"

namespace gantry::x86 {

/// Number of independent tasks; each is some pixels of the target and some of its channels.
int64_t widened_tasks_of(const WidenedConvolution& convolution, int64_t positions);
/// Elements of scratch memory of a call of convolve_widened().
int64_t widened_scratch_of(const WidenedConvolution& convolution);

/// Computes tasks [begin, end). `source`: [images, source, groups * channels]; `target`: [images,
/// target, groups * results]; `addend`: as the target, which it may be; null: none. `positions`:
/// pixels of all images of the target. `scratch`: widened_scratch_of() elements, not shared with
/// other calls.
void convolve_widened(const WidenedConvolution& convolution, const uint8_t* source,
                      const uint8_t* addend, void* target, int64_t positions, int64_t begin,
                      int64_t end, int16_t* scratch);

}  // namespace gantry::x86
