// SPDX-License-Identifier: Apache-2.0
// Lets one node stand for others that compute the same: the same operator and attributes on the
// same inputs, constants of up to 64 bytes compared by content. Random operators stay, and so do
// nodes with bodies and those whose outputs leave the graph.
//
//   %a = Abs-13(%x)
//   %b = Abs-13(%x)            =>   %a = Abs-13(%x)
//   %y = Add-14(%a, %b)             %y = Add-14(%a, %a)
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool merge_common_subexpressions(Graph& graph, const PassContext& context);

}  // namespace gantry
