// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <sys/auxv.h>
#include <system_error>
#include <unistd.h>

#include "base/names.h"
#include "plugin/discovery/discovery.h"
#include "plugin/discovery/machine.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;

#ifndef GANTRY_SYSCONFDIR
#define GANTRY_SYSCONFDIR "/etc"
#endif

constexpr const char* kManifestFolder = "gantry/providers.d";

// Reads variables and records a row for each.
class Variables {
 public:
  explicit Variables(SearchEnvironment& environment)
      : is_elevated_(environment.is_elevated),
        rows_(environment.variables),
        slips_(environment.slips) {}

  std::optional<std::string> read(const char* name) {
    const char* value = std::getenv(name);
    // Empty means unset: shells and container descriptions often cannot unset a variable.
    if (!value || trim_blanks(value).empty()) {
      rows_.push_back({name, "", "not set", ""});
      return std::nullopt;
    }
    // The result of secure_getenv counts; that of getenv is only reported.
    if (is_elevated_ || !secure_getenv(name)) {
      rows_.push_back({name, value, "ignored",
                       "the process runs with raised privileges (setuid, setgid or file "
                       "capabilities)"});
      return std::nullopt;
    }
    rows_.push_back({name, value, "used", ""});
    return value;
  }
  // Marks the variable that was read last as ignored.
  void ignore(const std::string& reason) {
    rows_.back().state = "ignored";
    rows_.back().reason = reason;
  }
  // Finds names that are nearly those of gantry's variables: the user expects them to have an
  // effect.
  void find_misspelt(const char* const* environment) {
    constexpr std::string_view kPrefix = "GANTRY_";
    std::vector<std::string> known = {"LOG"};  // read by base/log.cc
    for (const EnvironmentVariable& row : rows_) {
      if (row.name.starts_with(kPrefix)) known.push_back(row.name.substr(kPrefix.size()));
    }
    for (; *environment; ++environment) {
      const std::string_view entry = *environment;
      const size_t end = entry.find('=');
      if (!entry.starts_with(kPrefix) || end == std::string_view::npos) continue;
      const auto name = std::string(entry.substr(kPrefix.size(), end - kPrefix.size()));
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::string nearest = nearest_name(name, known);
      if (nearest.empty()) continue;
      const std::string reason =
          "gantry has no such variable. Did you mean GANTRY_" + nearest + "?";
      rows_.push_back({std::string(entry.substr(0, end)), std::string(entry.substr(end + 1)),
                       "ignored", reason});
      slips_.push_back(rows_.back().name + " is ignored: " + reason);
    }
  }
  // Marks the variable that was read last as ignored, and warns: its value is invalid.
  void refuse(const std::string& reason) {
    ignore(reason);
    slips_.push_back(rows_.back().name + "=" + rows_.back().value + " is ignored: " + reason);
  }

 private:
  bool is_elevated_;
  std::vector<EnvironmentVariable>& rows_;
  std::vector<std::string>& slips_;
};

// The XDG rules: an unset or empty variable means its default, a relative one is ignored.
std::string xdg_folder(Variables& variables, const char* name, const std::string& home,
                       const std::string& below_home) {
  std::string value = variables.read(name).value_or("");
  if (!value.empty() && value.front() == '/') return value;
  if (!value.empty()) variables.ignore("expected an absolute path");
  return home.empty() ? std::string() : home + below_home;
}

void add_folder(std::vector<std::string>& folders, const std::string& base) {
  if (!base.empty() && base.front() == '/')
    folders.push_back((fs::path(base) / kManifestFolder).string());
}

bool read_switch(Variables& variables, const char* name) {
  const std::string value = variables.read(name).value_or("0");
  if (value != "0" && value != "1" && !value.empty()) variables.refuse("expected 0 or 1");
  return value == "1";
}

// An absolute path of a file to write, which does not depend on a later working folder.
std::string read_path(Variables& variables, const char* name) {
  const std::string value = variables.read(name).value_or("");
  std::error_code error;
  return value.empty() ? value : fs::absolute(value, error).lexically_normal().string();
}

void read_cache(Variables& variables, const std::string& home, SearchEnvironment& environment) {
  const std::string base = xdg_folder(variables, "XDG_CACHE_HOME", home, "/.cache");
  const std::string chosen = variables.read("GANTRY_PROBE_CACHE").value_or("");
  if (chosen == "off") return;
  if (!chosen.empty() && chosen.front() == '/') {
    environment.cache_folder = chosen;
    return;
  }
  if (!chosen.empty()) variables.refuse("expected an absolute path, or off");
  if (!base.empty() && !environment.is_elevated) environment.cache_folder = base + "/gantry";
}

// Parses GANTRY_ISOLATION: all, off, or a list of name=process and name=none.
void read_isolation(Variables& variables, SearchEnvironment& environment) {
  const std::string text = variables.read("GANTRY_ISOLATION").value_or("");
  if (text == "all" || text == "off") {
    environment.all_isolated = text == "all";
    return;
  }
  std::map<std::string, bool> isolated;
  for (const std::string& part : split_list(text, ',')) {
    const size_t at = part.find('=');
    const std::string mode = at == std::string::npos ? "" : part.substr(at + 1);
    if (at == 0 || (mode != "process" && mode != "none")) {
      variables.refuse("expected all, off, or NAME=process and NAME=none with commas, found " +
                       part);
      return;
    }
    isolated[part.substr(0, at)] = mode == "process";
  }
  environment.isolated = std::move(isolated);
}

void read_switches(Variables& variables, SearchEnvironment& environment) {
  if (const auto names = variables.read("GANTRY_PROVIDERS_SELECT"))
    environment.select = split_list(*names, ',');
  environment.disable = split_list(variables.read("GANTRY_PROVIDERS_DISABLE").value_or(""), ',');
  environment.is_strict = read_switch(variables, "GANTRY_STRICT");
  environment.loader_log = variables.read("GANTRY_LOADER_LOG").value_or("");
  environment.report_file = read_path(variables, "GANTRY_LOADER_REPORT");
  variables.read("GANTRY_CONFIG");          // Config::of_environment opens it
  variables.read("GANTRY_ARTEFACT_CACHE");  // the configuration takes it
  read_isolation(variables, environment);
}

}  // namespace

SearchEnvironment SearchEnvironment::of_process() {
  SearchEnvironment environment;
  environment.is_elevated = getauxval(AT_SECURE) != 0;
  Variables variables(environment);
  environment.provider_files = variables.read("GANTRY_PROVIDER_FILES");
  environment.add_provider_files = variables.read("GANTRY_ADD_PROVIDER_FILES");
  if (environment.provider_files && environment.add_provider_files)
    variables.ignore("GANTRY_PROVIDER_FILES replaces it");
  read_switches(variables, environment);
  std::string home = variables.read("HOME").value_or("");
  if (!home.empty() && home.front() != '/') home.clear();
  // With raised privileges all of these are ignored, so there is no user folder.
  add_folder(environment.user, xdg_folder(variables, "XDG_CONFIG_HOME", home, "/.config"));
  add_folder(environment.user, xdg_folder(variables, "XDG_DATA_HOME", home, "/.local/share"));
  read_cache(variables, home, environment);
  add_folder(environment.site, GANTRY_SYSCONFDIR);
  const std::string shares = variables.read("XDG_DATA_DIRS").value_or("");
  for (const std::string& base :
       split_list(shares.empty() ? "/usr/local/share:/usr/share" : shares, ':')) {
    add_folder(environment.site, base);
  }
  environment.policy_file = std::string(GANTRY_SYSCONFDIR) + "/gantry/policy.json";
  if (!environment.is_elevated) variables.find_misspelt(environ);
  // Beside the core's library, wherever it was installed or built.
  const std::string own = fs::path(own_library()).parent_path().string();
  add_folder(environment.bundled, own);
  if (!own.empty()) {
    environment.probe_helper = own + "/gantry/gantry-probe";
    environment.worker_program = own + "/gantry/gantry-worker";
  }
  return environment;
}

void SearchEnvironment::ignore(const std::string& name, const std::string& reason) {
  for (EnvironmentVariable& variable : variables) {
    if (variable.name != name || variable.state == "not set") continue;
    variable.state = "ignored";
    variable.reason = reason;
  }
}

}  // namespace gantry
