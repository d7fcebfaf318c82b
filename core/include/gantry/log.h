// SPDX-License-Identifier: Apache-2.0
// The log of gantry and its providers: its level and its destination. Any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace gantry {

/// The most severe first; the numbers are those of gantry_log_level in provider.h.
enum class LogLevel { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };

/// "error", "warning", "info" or "debug".
std::string_view to_string(LogLevel level) noexcept;
/// The level of such a word. INVALID_ARGUMENT: another word.
LogLevel log_level_of(const std::string& word);

/// Sets the level: lines of this and more severe levels are logged. Before the first call it is
/// GANTRY_LOG=error|warning|info|debug of the environment; without the variable, warning. A
/// provider in a process of its own has the level of the time when the process was started.
void set_log_level(LogLevel level);
[[nodiscard]] LogLevel log_level() noexcept;

/// Receives a line without its line end, on the thread that logs it, one at a time. Must not call
/// gantry, which may hold locks. Exceptions of the handler are ignored.
using LogHandler = std::function<void(LogLevel level, std::string_view message)>;

/// Sends lines to `handler`; an empty handler: to standard error, the default. When this returns,
/// the previous handler is not called any more. Providers in processes of their own write to
/// standard error always. Must not be called by a handler.
void set_log_handler(LogHandler handler);

}  // namespace gantry
