// SPDX-License-Identifier: Apache-2.0
// The implementations of MatMul, Gemm and MatMulInteger with a constant matrix in this provider's
// own code. matmul.cc and matmul_integer.cc list them in order of preference. Each makes a kernel
// with packed weights, or says why it refuses (fuse/implementation.h).
#pragma once

#include <cstdint>

#include "fuse/implementation.h"

namespace gantry::x86 {

/// Rows of the left-hand matrix for which oneDNN's layout of the weights is chosen if their number
/// is dynamic.
constexpr int64_t kGuessedRows = 64;

/// f32, the matrix packed in panels. Needs AVX2 or AVX-512.
Made make_packed_matmul(const KernelArgs& args);
/// int8 where oneDNN's sums would saturate or overflow 32 bits: widened to int16.
Made make_int8_widened_matmul(const KernelArgs& args);
/// The same for MatMulInteger, and where oneDNN would round its zero-point compensation.
Made make_int8_widened_matmul_integer(const KernelArgs& args);
/// int8 with sums that do not saturate. Needs AVX-VNNI, and no AVX-512.
Made make_int8_avx_vnni_matmul(const KernelArgs& args);
/// The same for MatMulInteger.
Made make_int8_avx_vnni_matmul_integer(const KernelArgs& args);

}  // namespace gantry::x86
