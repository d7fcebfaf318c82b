// SPDX-License-Identifier: Apache-2.0
// Gives each reader of a dequantized value a DequantizeLinear of its own, so that a provider which
// works on the quantized numbers can take it along with the reader. What no provider takes is
// merged again (common_subexpressions). Only where the context says that such nodes are kept.
//
//   %a = DequantizeLinear-23(%q, %s)        %a = DequantizeLinear-23(%q, %s)
//   %b = Conv-22(%a, %w)               =>   %b = Conv-22(%a, %w)
//   %c = Conv-22(%a, %v)                    %a_1 = DequantizeLinear-23(%q, %s)
//                                           %c = Conv-22(%a_1, %v)
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool split_dequantize(Graph& graph, const PassContext& context);

}  // namespace gantry
