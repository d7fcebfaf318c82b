// SPDX-License-Identifier: Apache-2.0
// AVX2: a product of 6 tiles by 16 channels has its sums in 12 of the 16 registers.
#define GANTRY_TARGET [[gnu::target("avx2,fma")]]
#define GANTRY_INSTRUCTIONS avx2

namespace gantry::x86::winograd::avx2 {
constexpr int kLanes = 8;
constexpr int kVectors = 2;
constexpr int kMostRows = 6;
}  // namespace gantry::x86::winograd::avx2

#include "conv/winograd/kernels.h"

namespace gantry::x86::winograd {

const Code kAvx2Code = {"avx2",         avx2::kLanes,         avx2::kColumns,      avx2::kMostRows,
                        avx2::multiply, avx2::kTransforms<2>, avx2::kTransforms<4>};

}  // namespace gantry::x86::winograd
