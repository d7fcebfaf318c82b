// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <cstdlib>
#include <memory>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <string>

namespace gantry {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kDebug:
      return spdlog::level::debug;
  }
  return spdlog::level::debug;  // a level that only a newer provider knows
}

spdlog::level::level_enum wanted_level(std::string& unknown) {
  const char* wanted = std::getenv("GANTRY_LOG");
  const std::string name = wanted ? wanted : "warning";
  if (name == "error") return spdlog::level::err;
  if (name == "info") return spdlog::level::info;
  if (name == "debug") return spdlog::level::debug;
  if (name != "warning") unknown = name;
  return spdlog::level::warn;
}

// Never destroyed: providers may log while the process ends.
spdlog::logger& logger() {
  static spdlog::logger* const instance = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    auto* made = new spdlog::logger("gantry", std::move(sink));
    made->set_pattern("gantry %^%l%$: %v");
    std::string unknown;
    made->set_level(wanted_level(unknown));
    if (!unknown.empty()) {
      made->warn("GANTRY_LOG is \"{}\"; expected error, warning, info or debug", unknown);
    }
    return made;
  }();
  return *instance;
}

}  // namespace

void log(LogLevel level, std::string_view message) noexcept {
  try {
    logger().log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {
    // There is nobody left to tell.
  }
}

bool logs(LogLevel level) noexcept {
  try {
    return logger().should_log(to_spdlog(level));
  } catch (...) {
    return false;
  }
}

}  // namespace gantry
