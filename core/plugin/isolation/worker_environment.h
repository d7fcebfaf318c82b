// SPDX-License-Identifier: Apache-2.0
// The environment of a sandboxed worker: variables of the loader and of compute libraries, but none
// of the application, which may hold passwords and tokens. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

/// Whether a sandboxed worker gets the variable. `more`: further names, in which * is a wildcard.
bool is_for_sandbox(std::string_view name, const std::vector<std::string>& more);

}  // namespace gantry
