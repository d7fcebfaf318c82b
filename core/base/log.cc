// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <string>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/process_state.h"
#include "gantry/error.h"

namespace gantry {
namespace {

constexpr std::array kLevels = {spdlog::level::err, spdlog::level::warn, spdlog::level::info,
                                spdlog::level::debug};  // indexed by LogLevel

// A level of a newer provider that is unknown here becomes the least severe.
LogLevel known(LogLevel level) {
  return static_cast<size_t>(level) < kLevels.size() ? level : LogLevel::kDebug;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  return kLevels[static_cast<size_t>(known(level))];
}

LogLevel from_spdlog(spdlog::level::level_enum level) {
  const auto* found = std::find(kLevels.begin(), kLevels.end(), level);
  return known(static_cast<LogLevel>(found - kLevels.begin()));
}

std::optional<LogLevel> find_level(const std::string& word) {
  const std::vector<std::string>& names = log_level_names();
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) return std::nullopt;
  return static_cast<LogLevel>(found - names.begin());
}

// Needs no lock: the sink that contains it holds one while it writes.
class HandlerSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit HandlerSink(LogHandler handler) : handler_(std::move(handler)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& line) override {
    try {
      handler_(from_spdlog(line.level), {line.payload.data(), line.payload.size()});
    } catch (...) {
      // An error of the handler cannot be reported.
    }
  }
  void flush_() override {}

 private:
  LogHandler handler_;
};

spdlog::sink_ptr standard_error() {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  sink->set_pattern("gantry %^%l%$: %v");
  return sink;
}

struct Log {
  static constexpr ProcessState kState = ProcessState::kLog;

  std::shared_ptr<spdlog::sinks::dist_sink_mt> target;  // holds the sink in use, and a lock for it
  spdlog::logger logger;

  Log() : target(std::make_shared<spdlog::sinks::dist_sink_mt>()), logger("gantry", target) {
    target->add_sink(standard_error());
    const char* wanted = std::getenv("GANTRY_LOG");
    const std::optional<LogLevel> level = find_level(wanted && *wanted ? wanted : "warning");
    logger.set_level(to_spdlog(level.value_or(LogLevel::kWarning)));
    if (!level) {
      logger.warn("GANTRY_LOG is \"{}\"; expected error, warning, info or debug", wanted);
    }
  }
};

Log& the_log() { return process_state<Log>(); }

}  // namespace

void log(LogLevel level, std::string_view message) noexcept {
  try {
    the_log().logger.log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {
    // An error of the log cannot be reported.
  }
}

bool logs(LogLevel level) noexcept {
  try {
    return the_log().logger.should_log(to_spdlog(level));
  } catch (...) {
    return false;
  }
}

const std::vector<std::string>& log_level_names() {
  static const auto* const names =
      new std::vector<std::string>{"error", "warning", "info", "debug"};
  return *names;
}

std::string_view to_string(LogLevel level) noexcept {
  return log_level_names()[static_cast<size_t>(known(level))];
}

LogLevel log_level_of(const std::string& word) {
  if (const std::optional<LogLevel> level = find_level(word)) return *level;
  throw Error(
      Code::kInvalidArgument,
      "log level: expected one of " + list_names(log_level_names()) + ", found \"" + word + "\"");
}

void set_log_level(LogLevel level) { the_log().logger.set_level(to_spdlog(level)); }

LogLevel log_level() noexcept {
  try {
    return from_spdlog(the_log().logger.level());
  } catch (...) {
    return LogLevel::kWarning;
  }
}

void set_log_handler(LogHandler handler) {
  the_log().target->set_sinks(
      {handler ? std::make_shared<HandlerSink>(std::move(handler)) : standard_error()});
}

}  // namespace gantry
