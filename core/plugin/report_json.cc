// SPDX-License-Identifier: Apache-2.0
#include "plugin/report_json.h"

#include <gantry/error.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unistd.h>

#include "base/log.h"
#include "base/output_file.h"

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

bool write_report(const LoaderReport& report, const std::string& file) noexcept {
  const auto fail = [&](const std::string& reason) {
    log(LogLevel::kWarning,
        "GANTRY_LOADER_REPORT: " + file + ": the report cannot be written there: " + reason);
    return false;
  };
  try {
    const std::filesystem::path target = replaceable(file);
    const bool is_replaced = !target.empty();
    const std::filesystem::path draft =
        is_replaced ? target.string() + "." + std::to_string(getpid()) : file;
    std::error_code error;
    const auto give_up = [&](const std::string& reason) {
      if (is_replaced) std::filesystem::remove(draft, error);
      return fail(reason);
    };
    errno = 0;
    std::ofstream stream(draft, std::ios::binary);
    stream << to_json(report) << '\n';
    stream.close();
    if (!stream) return give_up(std::generic_category().message(errno));
    if (is_replaced) std::filesystem::rename(draft, target, error);
    return error ? give_up(error.message()) : true;
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}

}  // namespace gantry
