// SPDX-License-Identifier: Apache-2.0
// Raises exporters' spelling of a layer normalization over the last axis to the operator
// LayerNormalization (opset 17), with the scale and the shift that follow it.
//
//   %m = ReduceMean-13(%x) {axes = [-1]}
//   %d = Sub-14(%x, %m)
//   %q = Pow-15(%d, %two)
//   %v = ReduceMean-13(%q) {axes = [-1]}
//   %e = Add-14(%v, %epsilon)
//   %s = Sqrt-13(%e)
//   %n = Div-14(%d, %s)
//   %g = Mul-14(%n, %scale)
//   %y = Add-14(%g, %shift)    =>   %y = LayerNormalization-17(%x, %scale, %shift) {axis = -1, ...}
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool raise_layer_normalization(Graph& graph, const PassContext& context);

}  // namespace gantry
