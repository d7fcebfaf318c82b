// SPDX-License-Identifier: Apache-2.0
// Writes CastLike as Cast where the type that it is like is known, so that no tensor is read for
// its type alone, and removes Casts to the type that is there already.
//
//   %a = CastLike-15(%x, %like)           =>   %a = Cast-13(%x) {to = 10}       %like is float16
//   %b = Cast-13(%a) {to = 10}
//   %y = Relu-14(%b)                           %y = Relu-14(%a)
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool simplify_casts(Graph& graph, const PassContext& context);

}  // namespace gantry
