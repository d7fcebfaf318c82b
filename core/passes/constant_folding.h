// SPDX-License-Identifier: Apache-2.0
// Computes what depends on constants only. Another shape of a constant is the same memory; all
// other such nodes of a graph are evaluated at once; if that cannot be done, one by one. Random
// operators stay, and so do nodes that would make little data very large.
//
//   %s = int64[2] {2, 3}
//   %z = ConstantOfShape-9(%s)   =>   %z = float32[2,3] {0, 0, 0, 0, 0, 0}
//   %y = Add-14(%x, %z)               %y = Add-14(%x, %z)
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool fold_constants(Graph& graph, const PassContext& context);

}  // namespace gantry
