// SPDX-License-Identifier: Apache-2.0
// The body of GreedySearch: the token with the highest score follows.
#pragma once

#include "onnx/bodies/body_text.h"

namespace gantry {

BuildBody build_greedy_search;

}  // namespace gantry
