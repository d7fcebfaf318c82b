// SPDX-License-Identifier: Apache-2.0
// The environment of a sandboxed worker: what the loader and libraries that compute look for, and
// nothing that the application keeps there for itself, as passwords and tokens. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

/// Whether it gets the variable. `more`: further names, in which * stands for any characters.
bool is_for_sandbox(std::string_view name, const std::vector<std::string>& more);

}  // namespace gantry
