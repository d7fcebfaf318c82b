// SPDX-License-Identifier: Apache-2.0
// Writing to the process's log (gantry/log.h). Any thread.
#pragma once

#include <gantry/log.h>

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

/// Writes a line; never throws.
void log(LogLevel level, std::string_view message) noexcept;
/// True if lines of that level are written; avoids building expensive messages.
bool logs(LogLevel level) noexcept;
/// The names of the levels, the most severe first, indexed by level.
const std::vector<std::string>& log_level_names();

}  // namespace gantry
