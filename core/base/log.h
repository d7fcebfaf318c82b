// SPDX-License-Identifier: Apache-2.0
// The log of the process, on standard error. GANTRY_LOG=error|warning|info|debug says how much;
// warnings and errors without it. Any thread.
#pragma once

#include <string_view>

namespace gantry {

/// The numbers are those of gantry_log_level in provider.h.
enum class LogLevel { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };

/// Writes a line; never throws.
void log(LogLevel level, std::string_view message) noexcept;
/// True if lines of that level are written: to leave out the making of a costly message.
bool logs(LogLevel level) noexcept;

}  // namespace gantry
