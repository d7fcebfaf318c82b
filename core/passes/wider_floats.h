// SPDX-License-Identifier: Apache-2.0
// Turns nodes of 16-bit floats that their provider computes in float32 into nodes of float32, where
// they hang together and multiply much or outnumber the Casts at their edges. Weights become
// float32 once; between the nodes nothing is rounded.
//
//   %y = MatMul-13(%x, %w) : float16           %x_float32 = Cast-13(%x) {to = 1}
//   %z = Relu-14(%y) : float16                 %w_float32 = Cast-13(%w) {to = 1}   folded next
//                                         =>   %y = MatMul-13(%x_float32, %w_float32) : float32
//                                              %z_float32 = Relu-14(%y) : float32
//                                              %z = Cast-13(%z_float32) {to = 10}
//
// Left as they are: tables that a Gather reads few rows of, and caches that come in, grow by a
// Concat and go out.
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool widen_floats(Graph& graph, const PassContext& context);

}  // namespace gantry
