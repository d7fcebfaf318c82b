// SPDX-License-Identifier: Apache-2.0
#include "objects/logger.h"

#include <cstring>

#include "objects/api_table.h"
#include "objects/status.h"

namespace gantry::ort {
namespace {

// OrtLoggingLevel.
enum class Level : int { kVerbose, kInfo, kWarning, kError, kFatal };

uint32_t host_level(Level level) {
  switch (level) {
    case Level::kVerbose:
      return GANTRY_LOG_DEBUG;
    case Level::kInfo:
      return GANTRY_LOG_INFO;
    case Level::kWarning:
      return GANTRY_LOG_WARNING;
    default:
      return GANTRY_LOG_ERROR;
  }
}

Status* log_message(const Logger* logger, Level level, const char* message, const char*, int,
                    const char*) {
  if (message) logger->host->log(host_level(level), {message, std::strlen(message)});
  return nullptr;
}
// The host leaves out what nobody wants to see.
Status* get_severity(const Logger*, Level* out) {
  *out = Level::kVerbose;
  return nullptr;
}

}  // namespace

void add_logger_functions(ApiTable& table) {
  table.set(Slot::kLoggerLogMessage, log_message);
  table.set(Slot::kLoggerGetLoggingSeverityLevel, get_severity);
}

}  // namespace gantry::ort
