// SPDX-License-Identifier: Apache-2.0
#include "plugin/report_json.h"

#include <gantry/error.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/log.h"

namespace gantry {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const ProviderReport& row) {
  return {{"name", row.name},       {"version", row.version},     {"manifest", row.manifest},
          {"origin", row.origin},   {"library", row.library},     {"sha256", row.sha256},
          {"stage", row.stage},     {"state", row.state},         {"code", to_string(row.code)},
          {"message", row.message}, {"hint", row.hint},           {"warnings", row.warnings},
          {"probe", row.probe},     {"isolation", row.isolation}, {"check_ms", row.check_ms},
          {"open_ms", row.open_ms}};
}

ordered_json to_json(const EnvironmentVariable& variable) {
  return {{"name", variable.name},
          {"value", variable.value},
          {"state", variable.state},
          {"reason", variable.reason}};
}

}  // namespace

std::string to_json(const LoaderReport& report) {
  ordered_json providers = ordered_json::array();
  for (const ProviderReport& row : report.providers) providers.push_back(to_json(row));
  ordered_json environment = ordered_json::array();
  for (const EnvironmentVariable& variable : report.environment)
    environment.push_back(to_json(variable));
  const ordered_json document = {{"providers", providers},
                                 {"environment", environment},
                                 {"elevated", report.is_elevated},
                                 {"strict", report.is_strict},
                                 {"policy", report.policy}};
  // Paths and variables may hold any bytes.
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

void write_report(const LoaderReport& report, const std::string& file) noexcept {
  try {
    const std::string draft = file + "." + std::to_string(getpid());
    std::ofstream stream(draft, std::ios::binary);
    stream << to_json(report) << '\n';
    stream.close();
    if (!stream)
      throw Error(Code::kUnavailable, file + ": the provider report cannot be written there");
    std::filesystem::rename(draft, file);
  } catch (const std::exception& error) {
    log(LogLevel::kWarning, std::string("GANTRY_LOADER_REPORT: ") + error.what());
  }
}

}  // namespace gantry
