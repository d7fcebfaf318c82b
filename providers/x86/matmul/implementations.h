// SPDX-License-Identifier: Apache-2.0
// The implementations of MatMul, Gemm and MatMulInteger with a constant matrix that are this
// provider's own code; matmul.cc and matmul_integer.cc list them in the order in which they are
// asked.
#pragma once

#include "fuse/implementation.h"

namespace gantry::x86 {

/// f32, the matrix packed to panels, with AVX2 or AVX-512.
Made make_packed_matmul(const KernelArgs& args);
/// int8 where the library's sums would saturate or leave 32 bits: widened to int16.
Made make_int8_widened_matmul(const KernelArgs& args);
/// MatMulInteger, likewise, and where the library would round what a zero point takes away.
Made make_int8_widened_matmul_integer(const KernelArgs& args);

}  // namespace gantry::x86
