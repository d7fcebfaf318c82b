// SPDX-License-Identifier: Apache-2.0
// Raises exporters' spellings of HardSigmoid, by which they spell HardSwish too, to the operator
// (opset 6). Its division may stand behind the product that makes it a HardSwish.
//
//   %a = Add-14(%x, %three)
//   %b = Clip-13(%a, %zero, %six)
//   %y = Div-14(%b, %six)         =>   %y = HardSigmoid-6(%x) {alpha = 1 / 6, beta = 0.5}
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool raise_hard_sigmoid(Graph& graph, const PassContext& context);

}  // namespace gantry
