// SPDX-License-Identifier: Apache-2.0
// Removes nodes of which no output is read.
//
//   %a = Relu-14(%x)      =>   %y = Abs-13(%x)
//   %y = Abs-13(%x)
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool remove_dead_code(Graph& graph, const PassContext& context);

}  // namespace gantry
