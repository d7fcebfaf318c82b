// SPDX-License-Identifier: Apache-2.0
// What gantry and its providers tell while they work: how much of it, and where it goes. Any
// thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace gantry {

/// From the gravest on; the numbers are those of gantry_log_level in provider.h.
enum class LogLevel { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };

/// "error", "warning", "info" or "debug".
std::string_view to_string(LogLevel level) noexcept;
/// The level of such a word. INVALID_ARGUMENT: another word.
LogLevel log_level_of(const std::string& word);

/// From now on, lines of this level and graver ones are told. Before the first call the environment
/// says so: GANTRY_LOG=error|warning|info|debug; warnings and errors without it. A provider in a
/// process of its own keeps the level of when that was started.
void set_log_level(LogLevel level);
[[nodiscard]] LogLevel log_level() noexcept;

/// Gets a line without its end, on the thread that it comes from, one at a time. It must not call
/// gantry, which may hold locks meanwhile. What it throws is dropped.
using LogHandler = std::function<void(LogLevel level, std::string_view message)>;

/// Lines go to `handler` instead of to standard error; without one, to standard error again. Once
/// this returns, the handler before is called no more. Providers in processes of their own write to
/// standard error as before. Must not be called by a handler.
void set_log_handler(LogHandler handler);

}  // namespace gantry
