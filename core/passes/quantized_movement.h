// SPDX-License-Identifier: Apache-2.0
// An operator that only moves or chooses elements gives the same on quantized numbers as on the
// floats they stand for. Where it stands between a DequantizeLinear and a QuantizeLinear of equal
// scale and zero point, it is given the quantized numbers.
//
//   %a = DequantizeLinear-23(%q, %s, %z)
//   %b = Reshape-21(%a, %shape)            =>   %y = Reshape-21(%q, %shape)
//   %y = QuantizeLinear-23(%b, %s, %z)
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool move_quantized(Graph& graph, const PassContext& context);

}  // namespace gantry
