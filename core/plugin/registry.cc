// SPDX-License-Identifier: Apache-2.0
#include "plugin/registry.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/fork.h"
#include "base/load_lock.h"
#include "base/names.h"
#include "plugin/crash_marks.h"
#include "plugin/discovery/strict_json.h"

namespace gantry {
namespace {

// True if a pattern matches the provider's name or a former one.
bool matches_any(const std::vector<std::string>& patterns, const Manifest& manifest) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    const auto meets = [&](const std::string& name) { return matches_pattern(pattern, name); };
    return meets(manifest.name) ||
           std::any_of(manifest.former_names.begin(), manifest.former_names.end(), meets);
  });
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

std::unique_ptr<LoaderLog> make_log(SearchEnvironment& environment) {
  try {
    return std::make_unique<LoaderLog>(environment.loader_log);
  } catch (const Error& error) {
    environment.ignore("GANTRY_LOADER_LOG", error.message());
    environment.slips.push_back("GANTRY_LOADER_LOG is ignored: " + error.message());
    return std::make_unique<LoaderLog>("");
  }
}

}  // namespace

ProviderRegistry::ProviderRegistry(ProviderSettings settings, SearchEnvironment environment)
    : settings_(std::move(settings)),
      environment_(std::move(environment)),
      policy_(SitePolicy::read(environment_.policy_file, environment_.is_elevated)),
      writers_(TrustedWriters::of_process(environment_.is_elevated, settings_.trust)),
      log_(make_log(environment_)) {
  apply_policy_to_environment();
  Machine machine;
  for (const ManifestFile& file : find_manifests(settings_.search, environment_))
    consider(file, machine);
  warn_of_variables();
  warn_of_crashes();
  write_report_file();
}

ProviderRegistry::~ProviderRegistry() = default;

// Ignores the variables that name manifests if the site policy does not allow them. Both of them: a
// variable that replaces all other search paths must not have part of its effect.
void ProviderRegistry::apply_policy_to_environment() {
  if (policy_.allow_env) return;
  const std::string reason =
      "the site policy " + policy_.file + " does not let the environment name manifests";
  environment_.provider_files.reset();
  environment_.add_provider_files.reset();
  environment_.ignore("GANTRY_PROVIDER_FILES", reason);
  environment_.ignore("GANTRY_ADD_PROVIDER_FILES", reason);
}

void ProviderRegistry::consider(const ManifestFile& file, Machine& machine) {
  const auto start = std::chrono::steady_clock::now();
  auto candidate = std::make_unique<ProviderCandidate>();
  ProviderReport& row = candidate->row;
  candidate->file = file;
  if (settings_.is_search_from_environment && file.place == ManifestFile::Place::kConfiguration)
    candidate->file.place = ManifestFile::Place::kEnvironment;
  row.name = std::filesystem::path(file.path).filename().string();
  row.manifest = file.path;
  row.origin = file.origin;
  row.stage = "collected";
  try {
    if (!file.problem.empty()) throw Error(Code::kNotFound, file.path + ": " + file.problem);
    inspect(*candidate, machine);
    if (environment_.is_strict && !row.warnings.empty()) {
      throw Error(Code::kInvalidArgument,
                  file.path + ": GANTRY_STRICT makes an error of: " + row.warnings.front());
    }
    row.state = "not opened";
    if (!is_wanted(*candidate)) {
      row.hint = "It is opened where options are given to it, in " +
                 json_pointer("/providers/options", row.name) + ".";
    }
  } catch (const Error& error) {
    if (row.state != "shadowed") candidate->reject(error);
    // A path in a variable that does not exist is a mistake in the variable. Those of the
    // configuration are reported by its own checks.
    const bool is_slip = !file.problem.empty() && file.place == ManifestFile::Place::kEnvironment;
    log_->write(is_slip ? LogLevel::kWarning : LogLevel::kInfo, row.stage, error.message());
  } catch (const std::exception& error) {
    candidate->reject(Error(Code::kInternal, file.path + ": " + error.what()));
    log_->write(LogLevel::kWarning, row.stage, row.message);
  }
  row.check_ms = milliseconds_since(start);
  log_->write(LogLevel::kDebug, row.stage,
              row.name + " (" + file.path + "): " + row.state + " after the checks");
  candidates_.push_back(std::move(candidate));
}

// Every check that runs no code of the provider.
void ProviderRegistry::inspect(ProviderCandidate& candidate, Machine& machine) {
  ProviderReport& row = candidate.row;
  row.stage = "parsed";
  candidate.manifest = read_manifest(row.manifest);
  row.name = candidate.manifest.name;
  row.version = candidate.manifest.version;
  row.warnings = candidate.manifest.warnings;
  set_priority(candidate);
  for (const std::string& warning : row.warnings)
    log_->write(LogLevel::kWarning, row.stage, warning);
  row.stage = "policy";
  policy_.check_place(candidate.file);
  check_names(candidate);
  policy_.check_manifest(candidate.manifest, candidate.is_bundled());
  check_library(candidate, {policy_, machine, writers_});
  check_rivals(candidate);
  if (wants_isolation(candidate)) row.isolation = "process";
}

// The policy decides first, then the environment's entry for the name, then the configuration.
bool ProviderRegistry::wants_isolation(const ProviderCandidate& candidate) const {
  const std::string& name = candidate.manifest.name;
  if (policy_.forces_isolation(name)) return true;
  if (const auto named = environment_.isolated.find(name); named != environment_.isolated.end())
    return named->second;
  if (environment_.all_isolated) return *environment_.all_isolated;
  const auto configured = find_by_name(settings_.isolated, candidate.manifest);
  return configured != settings_.isolated.end() && configured->second;
}

void ProviderRegistry::set_priority(ProviderCandidate& candidate) const {
  const auto configured = find_by_name(settings_.priority, candidate.manifest);
  candidate.priority =
      configured == settings_.priority.end() ? candidate.manifest.priority : configured->second;
}

void ProviderRegistry::check_names(const ProviderCandidate& candidate) const {
  const std::string& name = candidate.manifest.name;
  const std::string subject = "provider \"" + name + "\" is ";
  if (matches_any(settings_.disable, candidate.manifest))
    throw Error(Code::kUnavailable, subject + "disabled by the configuration");
  if (matches_any(environment_.disable, candidate.manifest))
    throw Error(Code::kUnavailable, subject + "disabled by GANTRY_PROVIDERS_DISABLE");
  if (environment_.select && !matches_any(*environment_.select, candidate.manifest))
    throw Error(Code::kUnavailable, subject + "not among those that GANTRY_PROVIDERS_SELECT names");
}

// The first usable manifest of a name wins, and a library serves one name only.
void ProviderRegistry::check_rivals(ProviderCandidate& candidate) const {
  for (const auto& other : candidates_) {
    if (!other->is_usable()) continue;
    if (other->manifest.name == candidate.manifest.name) {
      candidate.row.state = "shadowed";
      candidate.row.message = "provider \"" + candidate.manifest.name + "\" was found before, in " +
                              other->row.manifest;
      throw Error(Code::kUnavailable, candidate.row.manifest + ": " + candidate.row.message);
    }
    if (!other->entry && other->library.is_same_file(candidate.library)) {
      candidate.row.stage = "file checks";
      throw Error(Code::kInvalidArgument, candidate.row.manifest +
                                              ": /library: expected a library of its own, found " +
                                              candidate.row.library + ", which serves \"" +
                                              other->manifest.name + "\" already");
    }
  }
}

void ProviderRegistry::add(gantry_provider_entry entry, const std::string& manifest) {
  require_not_forked();
  const Activity activity;
  const MutexLock lock(mutex_);
  if (!entry)
    throw Error(Code::kInvalidArgument, "add_provider: expected an entry function, found null");
  auto added = std::make_unique<ProviderCandidate>();
  added->row.manifest = "<code>";
  added->row.origin = "code";
  added->entry = entry;
  added->manifest = parse_manifest(manifest, "<code>", false);
  added->row.name = added->manifest.name;
  added->row.version = added->manifest.version;
  set_priority(*added);
  for (const auto& other : candidates_) {
    if (other->manifest.name == added->manifest.name && (other->provider || other->entry)) {
      throw Error(Code::kInvalidArgument, "add_provider: provider \"" + added->manifest.name +
                                              "\" is there already, from " + other->row.manifest);
    }
  }
  policy_.check_manifest(added->manifest, true);  // as a bundled one: its code is in the process
  if (policy_.forces_isolation(added->manifest.name)) {
    throw Error(Code::kUnavailable,
                "provider \"" + added->manifest.name + "\": the site policy " + policy_.file +
                    " wants it in a process of its own, and it was given in code, which is in this "
                    "process already");
  }
  open_or_throw(*added);
  for (const auto& other : candidates_) {
    if (other->manifest.name != added->manifest.name || !other->is_usable()) continue;
    other->row.state = "shadowed";
    other->row.message = "provider \"" + added->manifest.name + "\" was given in code";
  }
  // After those added before, before those that were found.
  const auto found = std::find_if(candidates_.begin(), candidates_.end(),
                                  [](const auto& other) { return !other->entry; });
  candidates_.insert(found, std::move(added));
}

// Warns of misspelt variables and of unknown providers in GANTRY_ISOLATION: the user relies on the
// protection that they seem to give.
void ProviderRegistry::warn_of_variables() {
  for (const std::string& slip : environment_.slips)
    log_->write(LogLevel::kWarning, "collected", slip);
  std::vector<std::string> names;
  std::vector<const Manifest*> manifests;
  for (const auto& candidate : candidates_) {
    if (candidate->manifest.name.empty()) continue;
    names.push_back(candidate->manifest.name);
    manifests.push_back(&candidate->manifest);
  }
  const auto expect_provider = [&](const char* variable, const std::string& name) {
    // Patterns may match nothing on this machine.
    if (name.find_first_of("*?") != std::string::npos) return;
    const bool is_there =
        std::any_of(manifests.begin(), manifests.end(),
                    [&](const Manifest* manifest) { return manifest->is_called(name); });
    if (is_there) return;
    log_->write(LogLevel::kWarning, "collected",
                std::string(variable) + ": no provider of the name \"" + name +
                    "\" was found; there are " + list_names(names) + "." +
                    did_you_mean(name, names));
  };
  for (const auto& [name, unused] : environment_.isolated)
    expect_provider("GANTRY_ISOLATION", name);
  for (const std::string& name : environment_.disable)
    expect_provider("GANTRY_PROVIDERS_DISABLE", name);
  if (!environment_.select) return;
  for (const std::string& name : *environment_.select)
    expect_provider("GANTRY_PROVIDERS_SELECT", name);
}

void ProviderRegistry::warn_of_crashes() {
  for (const CrashRecord& record : read_crashes(environment_.cache_folder)) {
    for (const auto& candidate : candidates_) {
      ProviderReport& row = candidate->row;
      if (row.library != record.library) continue;
      row.warnings.push_back(
          describe_end(record) + ". With {\"providers\": {\"isolation\": {\"" + row.name +
          "\": \"process\"}}} in the configuration, or GANTRY_ISOLATION=" + row.name +
          "=process, it runs in a process of its own, and GANTRY_PROVIDERS_DISABLE=" + row.name +
          " goes without it.");
      log_->write(LogLevel::kInfo, "collected", row.name + ": " + row.warnings.back());
    }
  }
}

std::vector<std::string> ProviderRegistry::device_types() {
  const MutexLock lock(mutex_);
  return known_types();
}

std::vector<ProviderReport> ProviderRegistry::report(bool open) {
  if (open) require_not_forked();
  const Activity activity;
  const MutexLock lock(mutex_);
  if (open) open_all_and_check_parts();
  return make_report().providers;
}

std::string ProviderRegistry::report_json(bool open) {
  if (open) require_not_forked();
  const Activity activity;
  const MutexLock lock(mutex_);
  if (open) open_all_and_check_parts();
  return to_json(make_report());
}

LoaderReport ProviderRegistry::make_report() const {
  LoaderReport report;
  for (const auto& candidate : candidates_) report.providers.push_back(candidate->row);
  report.environment = environment_.variables;
  report.is_elevated = environment_.is_elevated;
  report.is_strict = environment_.is_strict;
  report.policy = policy_.file;
  return report;
}

// After a failure the report is not written again, so that the error is logged once.
void ProviderRegistry::write_report_file() {
  if (environment_.report_file.empty() || write_report(make_report(), environment_.report_file))
    return;
  environment_.report_file.clear();
}

std::vector<KnownProvider> ProviderRegistry::known() {
  const LoadLock lock(mutex_, "the configuration was checked");
  std::vector<KnownProvider> result;
  for (const auto& candidate : candidates_) {
    if (candidate->manifest.name.empty() || candidate->row.state == "shadowed") continue;
    result.push_back({candidate->manifest, matches_any(settings_.disable, candidate->manifest),
                      candidate->is_usable(), !candidate->row.isolation.empty()});
  }
  return result;
}

DeclaredOperators ProviderRegistry::declared_operators(
    const std::map<std::string, std::string>& options) {
  const LoadLock lock(mutex_, "the model was read");
  DeclaredOperators result;
  for (const auto& candidate : candidates_) {
    const Manifest& manifest = candidate->manifest;
    std::vector<DeclaredOperator> own = manifest.operators;
    const auto given = find_by_name(options, manifest);
    // Those of another device would be of use only where that is asked for.
    const bool is_for_cpu = std::find(manifest.devices.begin(), manifest.devices.end(), "CPU") !=
                            manifest.devices.end();
    if (manifest.has_operators_by_options && is_for_cpu && given == options.end() &&
        candidate->is_usable())
      result.without_options.push_back(manifest.name);
    // One that is disabled is as if it were not there; the check of the configuration says so.
    const bool is_there = candidate->row.state != "shadowed" && candidate->row.stage != "policy";
    if (manifest.has_operators_by_options && given != options.end() && is_there) {
      require_not_forked();
      // The first session that gives it options opens it with these, if the runtime has none.
      const bool lends = !candidate->provider && !is_wanted(*candidate);
      if (lends) settings_.options[manifest.name] = given->second;
      open(*candidate);
      if (lends && !candidate->provider) settings_.options.erase(manifest.name);
      if (!candidate->provider) throw Error(candidate->row.code, candidate->row.message);
      own = candidate->provider->declared_operators(given->second);
      result.do_follow_from_options = true;
    }
    if (candidate->is_usable()) result.all.insert(result.all.end(), own.begin(), own.end());
  }
  return result;
}

}  // namespace gantry
