// SPDX-License-Identifier: Apache-2.0
// Which fusions multiply in bf16. The answers depend on the CPU; the first one may time it. [any]
#pragma once

#include "fuse/fusion.h"
#include "options.h"

namespace gantry::x86 {

/// Throws UNSUPPORTED if the options ask for bf16 and AVX-512 BF16 is missing: in the CPU, or
/// because ONEDNN_MAX_CPU_ISA excludes it.
void require_instructions(const Options& options);

/// True if the options ask for bf16 and the fusion gains by it: an f32 MatMul, Gemm or Conv with
/// constant weights on a CPU that multiplies faster in bf16 (timed once per process), a Conv with
/// at least 16 input channels per group. A matmul of at most 16 rows, which is bound by the reading
/// of its weights, gains on any CPU.
bool is_worth_bf16(const GraphIndex& index, const Fusion& fusion, const Options& options);

}  // namespace gantry::x86
