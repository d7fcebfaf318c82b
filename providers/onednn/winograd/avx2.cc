// SPDX-License-Identifier: Apache-2.0
// AVX2: 6 tiles meet 16 channels in 12 of the 16 registers.
#define GANTRY_TARGET [[gnu::target("avx2,fma")]]

namespace gantry::onednn::winograd {
constexpr int kLanes = 8;
constexpr int kVectors = 2;
constexpr int kMostRows = 6;
}  // namespace gantry::onednn::winograd

#include "winograd/kernels.h"

namespace gantry::onednn::winograd {

const Code kAvx2Code = {"avx2", kLanes, kColumns, kMostRows, multiply, kTwo, kFour};

}  // namespace gantry::onednn::winograd
