// SPDX-License-Identifier: Apache-2.0
// Removes Dropout that does nothing: in inference mode, with a mask that nobody reads.
//
//   %a, _ = Dropout-13(%x, %ratio)   =>   %y = Abs-13(%x)
//   %y = Abs-13(%a)
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool remove_dropout(Graph& graph, const PassContext& context);

}  // namespace gantry
