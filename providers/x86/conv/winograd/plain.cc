// SPDX-License-Identifier: Apache-2.0
// For CPUs without AVX2: generic vectors, which the compiler lowers.
#define GANTRY_TARGET
#define GANTRY_INSTRUCTIONS plain

namespace gantry::x86::winograd::plain {
constexpr int kLanes = 4;
constexpr int kVectors = 2;
constexpr int kMostRows = 4;
}  // namespace gantry::x86::winograd::plain

#include "conv/winograd/kernels.h"

namespace gantry::x86::winograd {

const Code kPlainCode = {
    "plain",         plain::kLanes,         plain::kColumns,      plain::kMostRows,
    plain::multiply, plain::kTransforms<2>, plain::kTransforms<4>};

}  // namespace gantry::x86::winograd
