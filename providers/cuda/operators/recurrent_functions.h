// SPDX-License-Identifier: Apache-2.0
// The functions between the gates of recurrent layers, as text. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <string>

namespace gantry::cuda {

/// Text of first_, second_ and third_function(x, direction), of which the layer has `count`, for
/// elements computed in the type C of `dtype`. INVALID_MODEL: names that the standard does not
/// have, or too few of them.
std::string recurrent_functions(const sdk::NodeView& node, int directions, int count);

}  // namespace gantry::cuda
