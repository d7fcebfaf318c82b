// SPDX-License-Identifier: Apache-2.0
// Raises exporters' spellings of GELU to the operator Gelu (opset 20): by Erf, or by Tanh and the
// third power. The last two factors may stand in any order.
//
//   %a = Div-14(%x, %sqrt2)
//   %b = Erf-13(%a)
//   %c = Add-14(%b, %one)
//   %d = Mul-14(%x, %c)
//   %y = Mul-14(%d, %half)     =>   %y = Gelu-20(%x) {approximate = "none"}
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool raise_gelu(Graph& graph, const PassContext& context);

}  // namespace gantry
