// SPDX-License-Identifier: Apache-2.0
// Removes Identity.
//
//   %a = Relu-14(%x)
//   %b = Identity-16(%a)      =>   %a = Relu-14(%x)
//   %y = Abs-13(%b)                %y = Abs-13(%a)
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool remove_identity(Graph& graph, const PassContext& context);

}  // namespace gantry
