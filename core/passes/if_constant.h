// SPDX-License-Identifier: Apache-2.0
// Puts the taken branch in place of an If whose condition is a constant.
//
//   %b = bool[] {true}
//   %y = If-16(%b) captures (%x) {then_branch = ... %t = Abs-13(%x) ...}   =>   %y = Abs-13(%x)
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool inline_constant_if(Graph& graph, const PassContext& context);

}  // namespace gantry
