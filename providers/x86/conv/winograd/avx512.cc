// SPDX-License-Identifier: Apache-2.0
// AVX-512: a product of 14 tiles by 32 channels has its sums in 28 of the 32 registers.
#define GANTRY_TARGET [[gnu::target("avx512f,avx512dq,avx512vl,avx2,fma")]]
#define GANTRY_INSTRUCTIONS avx512

namespace gantry::x86::winograd::avx512 {
constexpr int kLanes = 16;
constexpr int kVectors = 2;
constexpr int kMostRows = 14;
}  // namespace gantry::x86::winograd::avx512

#include "conv/winograd/kernels.h"

namespace gantry::x86::winograd {

const Code kAvx512Code = {
    "avx512",         avx512::kLanes,         avx512::kColumns,      avx512::kMostRows,
    avx512::multiply, avx512::kTransforms<2>, avx512::kTransforms<4>};

}  // namespace gantry::x86::winograd
