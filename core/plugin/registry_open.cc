// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <new>
#include <set>

#include "base/fork.h"
#include "base/load_lock.h"
#include "base/names.h"
#include "plugin/crash_marks.h"
#include "plugin/discovery/requirements.h"
#include "plugin/isolation/isolated_provider.h"
#include "plugin/library.h"
#include "plugin/open_providers.h"
#include "plugin/probe.h"
#include "plugin/registry.h"

namespace gantry {

std::string ProviderRegistry::options_of(const Manifest& manifest) const {
  const auto options = find_by_name(settings_.options, manifest);
  return options == settings_.options.end() ? "{}" : options->second;
}

// False for a provider without options whose operators follow from its options: it has none then.
bool ProviderRegistry::is_wanted(const ProviderCandidate& candidate) const {
  return !candidate.manifest.has_operators_by_options || candidate.provider ||
         find_by_name(settings_.options, candidate.manifest) != settings_.options.end();
}

// Checks the file again if it has been replaced since, so that the opened library is a checked one.
void ProviderRegistry::check_again(ProviderCandidate& candidate) {
  Machine machine;
  if (FileIdentity::of(candidate.row.library) != candidate.library)
    check_library(candidate, {policy_, machine, writers_});
  for (std::string& clash : library_clashes(candidate.row.library, candidate.needs)) {
    log_->write(LogLevel::kWarning, "requirements", candidate.row.name + ": " + clash);
    candidate.row.warnings.push_back(std::move(clash));
  }
}

// Whether to probe, as the configuration or else the manifest says. Bundled providers were tested
// when they were built, and one that is open in this process needs no probe.
bool ProviderRegistry::wants_probe(const ProviderCandidate& candidate) const {
  if (candidate.entry || is_provider_open(candidate.row.library)) return false;
  if (settings_.probe == "always") return true;
  if (settings_.probe == "never") return false;
  const bool is_auto = settings_.probe == "auto" || candidate.manifest.probe == ProbeMode::kAuto;
  return is_auto ? !candidate.is_bundled() : candidate.manifest.probe == ProbeMode::kAlways;
}

void ProviderRegistry::probe(ProviderCandidate& candidate) {
  ProviderReport& row = candidate.row;
  row.stage = "probe";
  const Manifest& manifest = candidate.manifest;
  const ProbeRequest request = {environment_.probe_helper,
                                manifest.name,
                                row.manifest,
                                manifest.text,
                                row.library,
                                options_of(manifest),
                                manifest.probe_timeout_ms};
  const ProbeCache cache(environment_.cache_folder);
  std::optional<ProbeVerdict> verdict = cache.find(request);
  const bool is_remembered = verdict.has_value();
  if (!verdict) {
    verdict = probe_in_child(request);
    cache.store(request, *verdict);
  }
  row.probe = verdict->cause;
  log_->write(LogLevel::kInfo, row.stage,
              row.name + ": " + row.probe + (is_remembered ? ", as remembered" : ""));
  if (verdict->has_passed()) return;
  if (verdict->is_sticky() && !environment_.cache_folder.empty()) {
    verdict->message +=
        "; it is tried again an hour later, when library, manifest or options "
        "change, or without " +
        cache.file_of(request);
  }
  throw Error(verdict->code, verdict->message);
}

namespace {

// Throws if options violate the provider's schema. The runtime has checked them before, with their
// position in the configuration; this holds for every user of the registry.
void require_good_options(const Manifest& manifest, const ProviderSettings& settings) {
  const auto options = find_by_name(settings.options, manifest);
  if (options == settings.options.end()) return;
  for (const JsonProblem& problem :
       option_problems(manifest, nlohmann::json::parse(options->second))) {
    throw Error(Code::kInvalidArgument,
                describe_problem("options of provider \"" + manifest.name + "\"", {}, problem));
  }
}

}  // namespace

// Opens the library, in this process or in a process of its own, which needs no probe.
void ProviderRegistry::load(ProviderCandidate& candidate, PluginProvider::Origin& origin) {
  ProviderReport& row = candidate.row;
  check_again(candidate);
  origin.library = row.library;
  if (!row.isolation.empty()) {
    row.stage = "load";
    const auto limits = find_by_name(settings_.workers, candidate.manifest);
    origin.isolation = limits == settings_.workers.end() ? IsolationSettings() : limits->second;
    origin.isolation->worker = environment_.worker_program;
    return;
  }
  if (wants_probe(candidate)) probe(candidate);
  row.stage = "load";
  origin.mark = mark_provider(environment_.cache_folder, row.name, row.library);
  const CallMark mark(origin.mark, MarkedCall::kLoad);
  origin.entry = open_library(row.library, candidate.library);
}

namespace {

// True for errors that are not the provider's fault or may not happen again. Retries of crashed
// worker processes are limited by their quarantine.
bool may_pass(Code code) {
  return code == Code::kOutOfMemory || code == Code::kProviderCrashed || code == Code::kCancelled ||
         code == Code::kDeadlineExceeded;
}

}  // namespace

void ProviderRegistry::open_or_throw(ProviderCandidate& candidate) {
  ProviderReport& row = candidate.row;
  PluginProvider::Origin origin;
  origin.entry = candidate.entry;
  origin.options = options_of(candidate.manifest);
  require_good_options(candidate.manifest, settings_);
  if (!origin.entry) load(candidate, origin);
  candidate.provider =
      open_provider(candidate.manifest, origin, [&row](const char* stage) { row.stage = stage; });
  const IsolatedProvider* isolated = candidate.provider->isolated();
  if (isolated && !isolated->missing().empty()) {
    row.warnings.push_back("The sandbox that was asked for is not complete: " +
                           isolated->missing());
  }
  row.stage = "ready";
  row.state = "ready";
  row.code = Code::kOk;
  row.message.clear();
  row.hint.clear();
}

void ProviderRegistry::open(ProviderCandidate& candidate) {
  ProviderReport& row = candidate.row;
  if (row.state != "not opened" && !candidate.is_to_be_tried_again) return;
  const auto start = std::chrono::steady_clock::now();
  candidate.is_to_be_tried_again = false;
  try {
    open_or_throw(candidate);
  } catch (const Error& error) {
    candidate.reject(error);
    candidate.is_to_be_tried_again = may_pass(error.code());
  } catch (const std::bad_alloc&) {
    candidate.reject(Error(Code::kOutOfMemory, "provider \"" + candidate.manifest.name +
                                                   "\": there was no memory to open it"));
    candidate.is_to_be_tried_again = true;
  } catch (const std::exception& error) {
    candidate.reject(
        Error(Code::kInternal, "provider \"" + candidate.manifest.name + "\": " + error.what()));
  }
  row.open_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const bool is_rejected = row.state == "rejected";
  log_->write(is_rejected ? LogLevel::kWarning : LogLevel::kDebug, row.stage,
              is_rejected ? row.message : row.name + ": opened");
  write_report_file();
}

void ProviderRegistry::open_all() {
  for (const auto& candidate : candidates_) {
    if (is_wanted(*candidate)) open(*candidate);
  }
}

void ProviderRegistry::open_all_and_check_parts() {
  open_all();
  Machine machine;
  for (const auto& candidate : candidates_) {
    ProviderReport& row = candidate->row;
    if (row.state != "ready") continue;
    for (std::string& warning : part_warnings(*candidate, machine, writers_)) {
      if (std::find(row.warnings.begin(), row.warnings.end(), warning) != row.warnings.end())
        continue;
      log_->write(LogLevel::kWarning, row.stage, row.name + ": " + warning);
      row.warnings.push_back(std::move(warning));
    }
  }
}

std::vector<ProviderCandidate*> ProviderRegistry::candidates_of(const std::string& type) const {
  std::vector<ProviderCandidate*> result;
  for (const auto& candidate : candidates_) {
    if (candidate->lists(type) && candidate->row.state != "shadowed")
      result.push_back(candidate.get());
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const ProviderCandidate* a, const ProviderCandidate* b) {
                     return a->priority > b->priority;
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

// GANTRY_STRICT: a rejected candidate is an error, except those that the policy rejects.
void ProviderRegistry::require_strict() const {
  if (!environment_.is_strict) return;
  for (const auto& candidate : candidates_) {
    const ProviderReport& row = candidate->row;
    if (row.state == "rejected" && row.stage != "policy")
      throw Error(row.code, "GANTRY_STRICT: a provider candidate was rejected: " + row.message);
  }
}

ProviderCandidate& ProviderRegistry::candidate_of(const PluginProvider& provider) const {
  const auto found =
      std::find_if(candidates_.begin(), candidates_.end(),
                   [&](const auto& candidate) { return candidate->provider.get() == &provider; });
  return **found;
}

// Warns if providers of a device have equal priorities: the first in search order then owns its
// memory and streams, which may not be what the user expects.
void ProviderRegistry::warn_of_tie(const std::vector<DeviceProvider>& found) {
  if (found.size() < 2 || found[0].device().has_host_memory()) return;
  const ProviderCandidate& first = candidate_of(*found[0].provider);
  ProviderCandidate& second = candidate_of(*found[1].provider);
  if (first.priority != second.priority) return;
  const std::string message =
      "devices of type " + found[0].device().info.device.type + ": \"" + first.row.name +
      "\" and \"" + second.row.name + "\" have the same priority, " +
      std::to_string(first.priority) + ", and \"" + first.row.name +
      "\", which was found first, owns their memory; /providers/priority in the configuration "
      "decides.";
  if (environment_.is_strict) throw Error(Code::kInvalidArgument, "GANTRY_STRICT: " + message);
  std::vector<std::string>& warnings = second.row.warnings;
  if (std::find(warnings.begin(), warnings.end(), message) != warnings.end()) return;
  warnings.push_back(message);
  log_->write(LogLevel::kWarning, "enumerate", message);
}

// Removes providers that do not use the memory of the first one: kernels of a device share its
// memory, and isolated providers use host memory.
void ProviderRegistry::drop_other_memory(std::vector<DeviceProvider>& found) {
  const bool is_host = found.front().device().has_host_memory();
  std::erase_if(found, [&](const DeviceProvider& other) {
    return other.device().has_host_memory() != is_host;
  });
}

namespace {

// Throws if the provider was rejected because the load was stopped: that says nothing about its
// devices.
void require_time(const ProviderReport& row) {
  const RunLimits* limits = load_limits();
  const Code code = limits ? limits->stop_code() : Code::kOk;
  if (code == Code::kOk || row.state != "rejected" || row.code != code) return;
  throw Error(code, row.message);
}

}  // namespace

std::vector<DeviceProvider> ProviderRegistry::find(const Device& device) {
  require_not_forked();
  const Activity activity;
  const LoadLock lock(mutex_, "device \"" + device.to_string() + "\" was asked for");
  const std::vector<ProviderCandidate*> candidates = candidates_of(device.type);
  if (candidates.empty()) fail_unknown_type(device);
  std::vector<DeviceProvider> result;
  for (ProviderCandidate* candidate : candidates) {
    if (is_wanted(*candidate)) open(*candidate);
    require_time(candidate->row);
  }
  require_strict();
  for (const ProviderCandidate* candidate : candidates) {
    if (!candidate->provider) continue;
    for (const PluginDevice& found : candidate->provider->devices()) {
      if (found.info.device == device && candidate->provider->info(found.index).state == "ready")
        result.push_back({candidate->provider, found.index});
    }
  }
  if (result.empty()) fail_not_ready(device, candidates);
  drop_other_memory(result);
  warn_of_tie(result);
  return result;
}

// The manifests that could not be read: one may be of the missing provider.
std::string ProviderRegistry::unread_manifests() const {
  constexpr size_t kMostTold = 2;
  std::string text;
  size_t unread = 0;
  for (const auto& candidate : candidates_) {
    if (!candidate->manifest.devices.empty()) continue;
    if (++unread <= kMostTold) text += "; not used: " + candidate->row.message;
  }
  if (unread > kMostTold) text += "; and " + std::to_string(unread - kMostTold) + " more";
  return text;
}

void ProviderRegistry::fail_unknown_type(const Device& device) const {
  const std::vector<std::string> types = known_types();
  std::string message =
      "device \"" + device.to_string() + "\": no provider offers devices of type " + device.type;
  message +=
      types.empty() ? "; no usable provider was found at all" : "; there are " + list_names(types);
  message += unread_manifests();
  std::string nearest = nearest_device_type(device.type, types);
  if (!nearest.empty()) {
    const std::string id = device.id == 0 ? "" : ":" + std::to_string(device.id);
    nearest = " Did you mean \"" + nearest + id + "\"?";
  }
  throw Error(Code::kNotFound, message + "." + nearest + " gantry doctor lists all providers");
}

void ProviderRegistry::fail_not_ready(const Device& device,
                                      const std::vector<ProviderCandidate*>& candidates) {
  const bool was_asked =
      std::any_of(candidates.begin(), candidates.end(),
                  [](const ProviderCandidate* c) { return c->provider != nullptr; });
  std::vector<std::string> ids;
  std::string reasons;
  bool is_reported = false;
  for (const ProviderCandidate* candidate : candidates) {
    if (!candidate->provider) {
      const ProviderReport& row = candidate->row;
      // One that only its options open has nothing to do with a wrong number of others' devices.
      if (row.message.empty() && was_asked) continue;
      reasons +=
          "; " + (row.message.empty() ? "provider \"" + row.name + "\" is not open. " + row.hint
                                      : row.message);
      continue;
    }
    for (const PluginDevice& other : candidate->provider->devices()) {
      if (other.info.device == device) {
        is_reported = true;
        const DeviceInfo now = candidate->provider->info(other.index);
        reasons += "; it is " + now.state + ": " + now.reason;
      } else if (other.info.device.type == device.type) {
        std::string id = other.info.device.to_string();
        const bool is_known = std::find(ids.begin(), ids.end(), id) != ids.end();
        if (!is_known) ids.push_back(std::move(id));
      }
    }
  }
  const std::string subject = "device \"" + device.to_string() + "\"";
  if (!is_reported && was_asked) {
    throw Error(Code::kNotFound, subject + ": there is no such device; devices of that type: " +
                                     list_names(ids) + reasons);
  }
  throw Error(Code::kUnavailable, subject + " cannot be used" + reasons);
}

std::vector<DeviceInfo> ProviderRegistry::devices() {
  require_not_forked();
  const Activity activity;
  const MutexLock lock(mutex_);
  open_all();
  require_strict();
  std::vector<DeviceInfo> result;
  for (const auto& candidate : candidates_) {
    if (!candidate->provider) continue;
    for (const PluginDevice& device : candidate->provider->devices())
      result.push_back(candidate->provider->info(device.index));
  }
  return result;
}

}  // namespace gantry
