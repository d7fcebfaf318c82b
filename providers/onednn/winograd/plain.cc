// SPDX-License-Identifier: Apache-2.0
// For CPUs without AVX2: vectors that every compiler knows how to split.
#define GANTRY_TARGET

namespace gantry::onednn::winograd {
constexpr int kLanes = 4;
constexpr int kVectors = 2;
constexpr int kMostRows = 4;
}  // namespace gantry::onednn::winograd

#include "winograd/kernels.h"

namespace gantry::onednn::winograd {

const Code kPlainCode = {"plain", kLanes, kColumns, kMostRows, multiply, kTwo, kFour};

}  // namespace gantry::onednn::winograd
