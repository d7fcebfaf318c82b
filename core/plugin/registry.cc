// SPDX-License-Identifier: Apache-2.0
#include "plugin/registry.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/names.h"
#include "plugin/library.h"
#include "plugin/note.h"
#include "plugin/open_providers.h"
#include "plugin/requirements.h"

namespace gantry {

struct ProviderRegistry::Candidate {
  ProviderReport row;
  Manifest manifest;  // name is empty if it could not be read
  gantry_provider_entry entry = nullptr;
  std::shared_ptr<PluginProvider> provider;

  [[nodiscard]] bool is_usable() const { return row.state == "ready" || row.state == "not opened"; }
  [[nodiscard]] bool lists(const std::string& type) const {
    return std::find(manifest.devices.begin(), manifest.devices.end(), type) !=
           manifest.devices.end();
  }
};

namespace {

std::string hint_for(const ProviderReport& row) {
  if (row.code == Code::kAbiMismatch)
    return "rebuild the provider with the SDK of this gantry, or take matching releases";
  if (row.stage == "policy") return "take its name out of /providers/disable to use it";
  if (row.stage == "parsed") return "correct the manifest; docs/MANIFEST.md describes its members";
  if (row.stage == "file checks") return "install the provider again, or remove its manifest";
  if (row.stage == "requirements")
    return "install what it needs; without that hardware the row can be ignored";
  if (row.stage == "load") return "ldd " + row.library + " shows which libraries it misses";
  return {};
}

void reject(ProviderReport& row, const Error& error) {
  row.state = "rejected";
  row.code = error.code();
  row.message = error.message();
  row.hint = hint_for(row);
}

}  // namespace

ProviderRegistry::ProviderRegistry(ProviderSettings settings, const SearchEnvironment& environment)
    : settings_(std::move(settings)) {
  for (const ManifestFile& file : find_manifests(settings_.search, environment)) consider(file);
  check_options(settings_.options);
}

ProviderRegistry::~ProviderRegistry() = default;

void ProviderRegistry::consider(const ManifestFile& file) {
  auto candidate = std::make_unique<Candidate>();
  ProviderReport& row = candidate->row;
  row.name = std::filesystem::path(file.path).filename().string();
  row.manifest = file.path;
  row.stage = "collected";
  try {
    if (!file.problem.empty()) throw Error(Code::kNotFound, file.path + ": " + file.problem);
    inspect(*candidate, file.path);
    row.state = "not opened";
  } catch (const Error& error) {
    if (row.state != "shadowed") reject(row, error);
    log(LogLevel::kInfo, error.message());
  } catch (const std::exception& error) {
    reject(row, Error(Code::kInternal, file.path + ": " + error.what()));
  }
  candidates_.push_back(std::move(candidate));
}

// Every check that runs no code of the provider.
void ProviderRegistry::inspect(Candidate& candidate, const std::string& file) {
  ProviderReport& row = candidate.row;
  row.stage = "parsed";
  candidate.manifest = read_manifest(file);
  const Manifest& manifest = candidate.manifest;
  row.name = manifest.name;
  row.version = manifest.version;
  for (const std::string& warning : manifest.warnings) {
    log(LogLevel::kWarning, file + ": " + warning);
    row.message += (row.message.empty() ? "" : " ") + warning;
  }
  row.stage = "policy";
  if (is_disabled(manifest.name)) {
    throw Error(Code::kUnavailable,
                "provider \"" + manifest.name + "\" is disabled by the configuration");
  }
  row.stage = "file checks";
  row.library = resolve_library(manifest, file);
  check_rivals(candidate);
  const gantry_note note = read_note(row.library);
  check_note(note, row.library);
  if (manifest.abi_major != note.major || manifest.abi_minor != note.minor) {
    throw Error(Code::kAbiMismatch,
                file + ": /abi: expected version " + std::to_string(note.major) + "." +
                    std::to_string(note.minor) + " as the note of " + row.library +
                    " says, found " + std::to_string(manifest.abi_major) + "." +
                    std::to_string(manifest.abi_minor));
  }
  row.stage = "requirements";
  check_requirements(manifest, row.library);
}

// The first usable manifest of a name wins, and a library serves one name only.
void ProviderRegistry::check_rivals(Candidate& candidate) const {
  for (const auto& other : candidates_) {
    if (!other->is_usable()) continue;
    if (other->manifest.name == candidate.manifest.name) {
      candidate.row.state = "shadowed";
      candidate.row.message = "provider \"" + candidate.manifest.name + "\" was found before, in " +
                              other->row.manifest;
      throw Error(Code::kUnavailable, candidate.row.manifest + ": " + candidate.row.message);
    }
    if (other->row.library == candidate.row.library && !candidate.row.library.empty()) {
      throw Error(Code::kInvalidArgument, candidate.row.manifest +
                                              ": /library: expected a library of its own, found " +
                                              candidate.row.library + ", which serves \"" +
                                              other->manifest.name + "\" already");
    }
  }
}

bool ProviderRegistry::is_disabled(const std::string& name) const {
  return std::any_of(settings_.disable.begin(), settings_.disable.end(),
                     [&](const std::string& pattern) { return matches_pattern(pattern, name); });
}

void ProviderRegistry::open_or_throw(Candidate& candidate) {
  ProviderReport& row = candidate.row;
  PluginProvider::Origin origin;
  origin.library = row.library;
  origin.entry = candidate.entry;
  const auto options = settings_.options.find(candidate.manifest.name);
  origin.options = options == settings_.options.end() ? "{}" : options->second;
  if (!origin.entry) {
    row.stage = "load";
    origin.entry = open_library(row.library);
  }
  candidate.provider = open_provider(candidate.manifest, origin, row.stage);
  row.stage = "ready";
  row.state = "ready";
}

void ProviderRegistry::open(Candidate& candidate) {
  if (candidate.row.state != "not opened") return;
  try {
    open_or_throw(candidate);
  } catch (const Error& error) {
    reject(candidate.row, error);
  } catch (const std::exception& error) {
    reject(candidate.row,
           Error(Code::kInternal, "provider \"" + candidate.manifest.name + "\": " + error.what()));
  }
  if (candidate.row.state == "rejected") log(LogLevel::kWarning, candidate.row.message);
}

void ProviderRegistry::open_all() {
  for (const auto& candidate : candidates_) open(*candidate);
}

void ProviderRegistry::add(gantry_provider_entry entry, const std::string& manifest) {
  require_not_forked();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!entry)
    throw Error(Code::kInvalidArgument, "add_provider: expected an entry function, found null");
  auto added = std::make_unique<Candidate>();
  added->row.manifest = "<code>";
  added->entry = entry;
  added->manifest = parse_manifest(manifest, "<code>", false);
  added->row.name = added->manifest.name;
  added->row.version = added->manifest.version;
  for (const auto& other : candidates_) {
    if (other->manifest.name == added->manifest.name && (other->provider || other->entry)) {
      throw Error(Code::kInvalidArgument, "add_provider: provider \"" + added->manifest.name +
                                              "\" is there already, from " + other->row.manifest);
    }
  }
  const auto options = settings_.options.find(added->manifest.name);
  if (options != settings_.options.end()) gantry::check_options(added->manifest, options->second);
  open_or_throw(*added);
  for (const auto& other : candidates_) {
    if (other->manifest.name != added->manifest.name || !other->is_usable()) continue;
    other->row.state = "shadowed";
    other->row.message = "provider \"" + added->manifest.name + "\" was given in code";
  }
  // Behind those that were given before, in front of those that were found.
  const auto found = std::find_if(candidates_.begin(), candidates_.end(),
                                  [](const auto& other) { return !other->entry; });
  candidates_.insert(found, std::move(added));
}

std::vector<ProviderRegistry::Candidate*> ProviderRegistry::candidates_of(
    const std::string& type) const {
  std::vector<Candidate*> result;
  for (const auto& candidate : candidates_) {
    if (candidate->lists(type) && candidate->row.state != "shadowed")
      result.push_back(candidate.get());
  }
  std::stable_sort(result.begin(), result.end(), [](const Candidate* a, const Candidate* b) {
    return a->manifest.priority > b->manifest.priority;
  });
  return result;
}

std::vector<std::string> ProviderRegistry::known_types() const {
  std::set<std::string> types;
  for (const auto& candidate : candidates_) {
    if (candidate->is_usable())
      types.insert(candidate->manifest.devices.begin(), candidate->manifest.devices.end());
  }
  return {types.begin(), types.end()};
}

std::vector<std::string> ProviderRegistry::device_types() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return known_types();
}

std::vector<DeviceProvider> ProviderRegistry::find(const Device& device) {
  require_not_forked();
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::vector<Candidate*> candidates = candidates_of(device.type);
  if (candidates.empty()) fail_unknown_type(device);
  std::vector<DeviceProvider> result;
  for (Candidate* candidate : candidates) {
    open(*candidate);
    if (!candidate->provider) continue;
    for (const PluginDevice& found : candidate->provider->devices()) {
      if (found.info.device == device && candidate->provider->info(found.index).state == "ready")
        result.push_back({candidate->provider, found.index});
    }
  }
  if (result.empty()) fail_not_ready(device, candidates);
  return result;
}

void ProviderRegistry::fail_unknown_type(const Device& device) const {
  const std::vector<std::string> types = known_types();
  std::string message =
      "device \"" + device.to_string() + "\": no provider offers devices of type " + device.type;
  message +=
      types.empty() ? "; no usable provider was found at all" : "; there are " + list_names(types);
  throw Error(Code::kNotFound, message + "." + did_you_mean(device.type, types) +
                                   " gantry doctor lists all providers");
}

void ProviderRegistry::fail_not_ready(const Device& device,
                                      const std::vector<Candidate*>& candidates) {
  std::vector<std::string> ids;
  std::string reasons;
  bool is_reported = false;
  for (const Candidate* candidate : candidates) {
    if (!candidate->provider) {
      reasons += "; " + candidate->row.message;
      continue;
    }
    for (const PluginDevice& other : candidate->provider->devices()) {
      if (other.info.device == device) {
        is_reported = true;
        const DeviceInfo now = candidate->provider->info(other.index);
        reasons += "; it is " + now.state + ": " + now.reason;
      } else if (other.info.device.type == device.type) {
        ids.push_back(other.info.device.to_string());
      }
    }
  }
  const std::string subject = "device \"" + device.to_string() + "\"";
  const bool was_asked = std::any_of(candidates.begin(), candidates.end(),
                                     [](const Candidate* c) { return c->provider != nullptr; });
  if (!is_reported && was_asked) {
    throw Error(Code::kNotFound, subject + ": there is no such device; devices of that type: " +
                                     list_names(ids) + reasons);
  }
  throw Error(Code::kUnavailable, subject + " cannot be used" + reasons);
}

std::vector<DeviceInfo> ProviderRegistry::devices() {
  require_not_forked();
  const std::lock_guard<std::mutex> lock(mutex_);
  open_all();
  std::vector<DeviceInfo> result;
  for (const auto& candidate : candidates_) {
    if (!candidate->provider) continue;
    for (const PluginDevice& device : candidate->provider->devices())
      result.push_back(candidate->provider->info(device.index));
  }
  return result;
}

std::vector<ProviderReport> ProviderRegistry::report(bool open) {
  if (open) require_not_forked();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open) open_all();
  std::vector<ProviderReport> rows;
  for (const auto& candidate : candidates_) rows.push_back(candidate->row);
  return rows;
}

void ProviderRegistry::check_options(const std::map<std::string, std::string>& options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& candidate : candidates_) {
    if (candidate->row.state != "shadowed" && !candidate->manifest.name.empty())
      names.push_back(candidate->manifest.name);
  }
  for (const auto& [name, text] : options) {
    bool is_known = false;
    for (const auto& candidate : candidates_) {
      if (candidate->manifest.name != name || candidate->row.state == "shadowed") continue;
      is_known = true;
      gantry::check_options(candidate->manifest, text);
    }
    if (is_known) continue;
    log(LogLevel::kWarning, "configuration: /providers/options/" + name +
                                ": no provider of that name was found." +
                                did_you_mean(name, names));
  }
}

}  // namespace gantry
