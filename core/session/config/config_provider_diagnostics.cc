// SPDX-License-Identifier: Apache-2.0
// Findings of a configuration that depend on this machine: providers, their options, search paths.
#include <gantry/device.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/names.h"
#include "plugin/discovery/trusted_path.h"
#include "session/config/config_diagnostics.h"
#include "session/config/config_positions.h"
#include "session/config/precision.h"

namespace gantry {
namespace {

using nlohmann::json;

// The notice about a former name of a provider; empty: it is no former name.
std::string former_name_notice(const std::string& name,
                               const std::vector<KnownProvider>& providers) {
  for (const KnownProvider& provider : providers) {
    const Manifest& manifest = provider.manifest;
    if (name != manifest.name && manifest.is_called(name)) {
      return "provider \"" + name + "\" is called \"" + manifest.name +
             "\" now; the former name still works";
    }
  }
  return {};
}

std::vector<std::string> provider_names(const std::vector<KnownProvider>& providers) {
  std::vector<std::string> names;
  names.reserve(providers.size());
  for (const KnownProvider& provider : providers) names.push_back(provider.manifest.name);
  return names;
}

// The problem of a name that no provider has: it is a former name, or `unknown`.
JsonProblem name_problem(const std::string& pointer, const std::string& name, bool is_in_name,
                         const std::vector<KnownProvider>& providers, const std::string& unknown) {
  const std::string notice = former_name_notice(name, providers);
  if (!notice.empty()) return {pointer, notice, is_in_name, {}};
  const std::vector<std::string> names = provider_names(providers);
  const std::string nearest = nearest_name(name, names);
  return problem_with_suggestion(pointer, unknown + "; there are " + list_names(names),
                                 nearest.empty() ? nearest : json(nearest).dump(), is_in_name);
}

// Members named after a provider that does not exist.
void check_provider_names(const json& root, const ConfigOrigins& origins,
                          const std::vector<KnownProvider>& providers,
                          std::vector<ConfigFinding>& findings) {
  const std::vector<std::string> names = provider_names(providers);
  for (const char* place :
       {"/providers/options", "/providers/isolation", "/providers/worker", "/providers/priority"}) {
    const json* members = member_at(root, place);
    if (!members || !members->is_object()) continue;
    for (const auto& [name, value] : members->items()) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      const JsonProblem problem = name_problem(json_pointer(place, name), name, true, providers,
                                               "no provider of that name was found");
      findings.push_back(to_finding(Code::kOk, problem, origins));
    }
  }
}

// Disabled names that no provider has. Not patterns: these may match nothing on this machine.
void check_disabled(const json& root, const ConfigOrigins& origins,
                    const std::vector<KnownProvider>& providers,
                    std::vector<ConfigFinding>& findings) {
  const std::vector<std::string> names = provider_names(providers);
  for (const auto& [pointer, name] : placed_texts(root, "/providers/disable")) {
    const bool is_pattern = name.find_first_of("*?") != std::string::npos;
    if (is_pattern || std::find(names.begin(), names.end(), name) != names.end()) continue;
    const JsonProblem problem =
        name_problem(pointer, name, false, providers,
                     "no provider of that name was found, so none is turned off");
    findings.push_back(to_finding(Code::kOk, problem, origins));
  }
}

// Users and groups that this machine does not have. No error: a configuration may be for several
// machines, and nobody is trusted for such an entry.
void check_trust(const json& root, const ConfigOrigins& origins,
                 std::vector<ConfigFinding>& findings) {
  for (const auto& [pointer, named] : placed_texts(root, "/providers/trust")) {
    if (fault_of_trust(named) != TrustFault::kUnknown) continue;
    const size_t colon = named.find(':');
    const std::string what = "this machine has no " + named.substr(0, colon) + " \"" +
                             named.substr(colon + 1) + "\", so nobody is trusted for this entry";
    findings.push_back(to_finding(Code::kOk, {pointer, what, false, {}}, origins));
  }
}

// Search paths that do not exist.
void check_search(const json& root, const ConfigOrigins& origins,
                  std::vector<ConfigFinding>& findings) {
  for (const auto& [pointer, place] : placed_texts(root, "/providers/search")) {
    std::error_code error;
    if (std::filesystem::exists(place, error)) continue;
    const std::filesystem::path tried = std::filesystem::absolute(place, error);
    const std::string what = "expected a manifest or a folder of manifests, found nothing at " +
                             tried.lexically_normal().string();
    findings.push_back(to_finding(Code::kOk, {pointer, what, false, {}}, origins));
  }
}

void check_options(const json& root, const ConfigOrigins& origins,
                   const std::vector<KnownProvider>& providers,
                   std::vector<ConfigFinding>& findings) {
  const json* all_options = member_at(root, "/providers/options");
  if (!all_options || !all_options->is_object()) return;
  for (const auto& [name, options] : all_options->items()) {
    const std::string pointer = json_pointer("/providers/options", name);
    for (const KnownProvider& provider : providers) {
      if (!provider.manifest.is_called(name) || !options.is_object()) continue;
      const size_t prefix = json_pointer("/providers/options", provider.manifest.name).size();
      for (JsonProblem problem : option_problems(provider.manifest, options)) {
        problem.pointer = pointer + problem.pointer.substr(prefix);  // with the document's name
        findings.push_back(to_finding(Code::kInvalidArgument, problem, origins));
      }
      if (!provider.is_disabled) continue;
      const char* what = "the options are for a provider that /providers/disable turns off";
      findings.push_back(to_finding(Code::kOk, {pointer, what, true, {}}, origins));
    }
  }
}

// Limits without effect: the provider has no process of its own.
std::string no_process_for_limits_of(const std::string& name) {
  return "has no effect: it limits a process of the provider's own, and \"" + name +
         "\" is to run in this one; {\"isolation\": {\"" + name + "\": \"process\"}} gives it one";
}

void check_workers(const json& root, const ConfigOrigins& origins,
                   const std::vector<KnownProvider>& providers,
                   std::vector<ConfigFinding>& findings) {
  const json* workers = member_at(root, "/providers/worker");
  if (!workers || !workers->is_object()) return;
  for (const KnownProvider& provider : providers) {
    const std::string& name = provider.manifest.name;
    const json* mode = member_at(root, json_pointer("/providers/isolation", name));
    const bool is_isolated = provider.is_isolated || (mode && *mode == "process");
    if (!workers->contains(name) || !provider.is_usable || is_isolated) continue;
    findings.push_back(to_finding(
        Code::kOk,
        {json_pointer("/providers/worker", name), no_process_for_limits_of(name), true, {}},
        origins));
  }
}

// A precision that no provider on this machine has.
void check_precision(const json& root, const ConfigOrigins& origins,
                     const std::vector<KnownProvider>& providers,
                     std::vector<ConfigFinding>& findings) {
  const json* wanted = member_at(root, "/session/precision");
  if (!wanted || !wanted->is_string() || *wanted == kFullPrecision) return;
  const auto precision = wanted->get<std::string>();
  std::vector<const Manifest*> manifests;
  for (const KnownProvider& provider : providers) {
    if (!provider.is_usable) continue;
    if (takes_precision(provider.manifest, precision)) return;
    manifests.push_back(&provider.manifest);
  }
  const JsonProblem problem{
      "/session/precision", precision_refusal(manifests, "on this machine", precision), false, {}};
  findings.push_back(to_finding(Code::kOk, problem, origins));
}

// Why no usable provider offers the type of a device; empty: one does.
JsonProblem problem_of_device(const std::string& pointer, const std::string& text,
                              const std::string& type,
                              const std::vector<KnownProvider>& providers) {
  std::set<std::string> types;
  const KnownProvider* unusable = nullptr;
  for (const KnownProvider& provider : providers) {
    const std::vector<std::string>& own = provider.manifest.devices;
    const bool has_type = std::find(own.begin(), own.end(), type) != own.end();
    if (has_type && provider.is_usable) return {};
    if (has_type) unusable = &provider;
    if (provider.is_usable) types.insert(own.begin(), own.end());
  }
  if (unusable) {
    const char* why = unusable->is_disabled ? "is turned off by /providers/disable"
                                            : "cannot be used; gantry doctor tells why";
    return {pointer,
            "the provider of " + text + ", \"" + unusable->manifest.name + "\", " + why,
            false,
            {}};
  }
  const std::vector<std::string> known(types.begin(), types.end());
  std::string nearest = nearest_device_type(type, known);
  if (!nearest.empty()) nearest = json(nearest + text.substr(type.size())).dump();
  return problem_with_suggestion(
      pointer, "no provider offers devices of type " + type + "; there are " + list_names(known),
      nearest);
}

}  // namespace

std::vector<ConfigFinding> provider_findings(const json& root, const ConfigOrigins& origins,
                                             const std::vector<KnownProvider>& providers) {
  std::vector<ConfigFinding> findings;
  check_trust(root, origins, findings);
  check_search(root, origins, findings);
  check_disabled(root, origins, providers, findings);
  check_provider_names(root, origins, providers, findings);
  check_options(root, origins, providers, findings);
  check_workers(root, origins, providers, findings);
  check_precision(root, origins, providers, findings);
  for (const auto& [pointer, text] : placed_devices(root)) {
    try {
      const JsonProblem problem =
          problem_of_device(pointer, text, Device::parse(text).type, providers);
      if (!problem.what.empty()) findings.push_back(to_finding(Code::kOk, problem, origins));
    } catch (const Error&) {  // a malformed device: document_findings reports it
    }
  }
  return findings;
}

}  // namespace gantry
