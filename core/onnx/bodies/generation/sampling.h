// SPDX-License-Identifier: Apache-2.0
// The body of Sampling: the token that follows is drawn, from the most probable ones alone.
#pragma once

#include "onnx/bodies/body_text.h"

namespace gantry {

BuildBody build_sampling;

}  // namespace gantry
