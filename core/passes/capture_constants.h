// SPDX-License-Identifier: Apache-2.0
// Takes captures away that carry a constant, which the bodies then hold themselves, or that no body
// reads.
//
//   %c = int64[1] {3}                                  %c = int64[1] {3}
//   %y = If-16(%b) captures (%c) {...: %c : int64[1]}  =>  %y = If-16(%b) {...: %c = int64[1] {3}}
#pragma once

#include "passes/pipeline.h"

namespace gantry {

bool capture_constants(Graph& graph, const PassContext& context);

}  // namespace gantry
