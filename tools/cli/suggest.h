// SPDX-License-Identifier: Apache-2.0
// Suggestions for mistyped names. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

/// `; did you mean "x"?` for the candidate nearest to `name`, or nothing if none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace gantry::cli
