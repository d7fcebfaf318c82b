// SPDX-License-Identifier: Apache-2.0
// gantry doctor: lists every provider candidate, the stage that its loading reached and the reason
// if it failed. Status 1: no provider is ready, or one is broken. A provider that only lacks its
// hardware or a vendor library is not broken.
#include <algorithm>
#include <fmt/core.h>

#include "command.h"
#include "options.h"
#include "output.h"

namespace gantry::cli {
namespace {

bool is_broken(const ProviderReport& row) {
  // Failed file checks (another user could replace the file) are UNAVAILABLE too, but not a matter
  // of missing hardware.
  return row.state == "rejected" && (row.code != Code::kUnavailable || row.stage == "file checks");
}

bool is_healthy(const std::vector<ProviderReport>& rows) {
  const bool any_ready =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.state == "ready"; });
  return any_ready && std::none_of(rows.begin(), rows.end(), is_broken);
}

void print_detail(const char* label, const std::string& text) {
  if (!text.empty()) print_line(std::string("  ") + label + text);
}

void print(const ProviderReport& row) {
  const std::string name = row.version.empty() ? row.name : row.name + " " + row.version;
  const std::string stage = row.stage == row.state ? "" : ", reached stage \"" + row.stage + "\"";
  const Color color = row.state == "ready" ? Color::kGood
                      : is_broken(row)     ? Color::kBad
                                           : Color::kQuiet;
  print_line(name + ": " + paint(row.state, color) + stage);
  print_detail("manifest  ", row.manifest);
  print_detail("library   ", row.library);
  if (row.code != Code::kOk || !row.message.empty()) {
    const std::string code = row.code == Code::kOk ? "" : std::string(to_string(row.code)) + ": ";
    print_detail("problem   ", code + row.message);
  }
  print_detail("hint      ", row.hint);
  for (const std::string& warning : row.warnings) print_detail("warning   ", warning);
  print_detail("probe     ", row.probe);
  if (!row.isolation.empty()) print_detail("isolation ", "in a process of its own");
}

void print(const EnvironmentVariable& variable) {
  if (variable.state == "not set") return;
  const std::string reason = variable.reason.empty() ? "" : ": " + variable.reason;
  print_line(variable.name + "=" + variable.value + " (" + variable.state + reason + ")");
}

void print_summary(const std::vector<ProviderReport>& rows) {
  const auto count = [&](const auto& is_counted) {
    return std::count_if(rows.begin(), rows.end(), is_counted);
  };
  const auto ready = count([](const ProviderReport& row) { return row.state == "ready"; });
  const auto broken = count(is_broken);
  const std::string problems =
      broken > 0 ? ", " + paint(std::to_string(broken) + " broken", Color::kBad) : std::string();
  print_line(std::to_string(ready) + " of " + std::to_string(rows.size()) + " providers ready" +
             problems);
}

void print(const ArtefactCache& cache) {
  if (cache.folder.empty()) return;
  uint64_t bytes = 0;
  for (const ArtefactEntry& entry : cache.entries) bytes += entry.size_bytes;
  print_line(fmt::format("compiled-model cache {}: {} files, {} of {}", cache.folder.string(),
                         cache.entries.size(), format_bytes(bytes),
                         format_bytes(cache.limit_bytes)));
}

Json cache_to_json(const ArtefactCache& cache) {
  Json files = Json::array();
  for (const ArtefactEntry& entry : cache.entries) {
    files.push_back({{"file", entry.file.string()},
                     {"size_bytes", entry.size_bytes},
                     {"used_s", entry.used_s}});
  }
  return {{"folder", cache.folder.string()}, {"limit_bytes", cache.limit_bytes}, {"files", files}};
}

Status doctor(const CommonOptions& options) {
  const auto runtime = make_runtime(options);
  const std::vector<ProviderReport> rows = runtime->report(true);
  const bool healthy = is_healthy(rows);
  if (options.json) {
    Json json = {{"healthy", healthy}};
    json.update(Json::parse(runtime->report_json()));
    json["artefact_cache"] = cache_to_json(artefact_cache(*runtime));
    print_json(json);
  } else if (rows.empty()) {
    print_line("no provider manifests were found");
  } else {
    print_summary(rows);
    for (const ProviderReport& row : rows) print(row);
    for (const EnvironmentVariable& variable : runtime->environment()) print(variable);
    print(artefact_cache(*runtime));
  }
  return healthy ? kGood : kNo;
}

}  // namespace

void add_doctor(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command = app.add_subcommand(
      "doctor", "Every provider candidate: how far it came, code, sentence, hint");
  add_common_options(*command, *options);
  command->callback([options, &chosen] { chosen = [options] { return doctor(*options); }; });
}

}  // namespace gantry::cli
