// SPDX-License-Identifier: Apache-2.0
#include "session/config_findings.h"

#include <gantry/device.h>

#include <algorithm>
#include <tuple>

#include "base/names.h"
#include "passes/pipeline.h"

namespace gantry {
namespace {

using nlohmann::json;

const json* find(const json& root, const std::string& pointer) {
  const json::json_pointer place(pointer);
  return root.contains(place) ? &root[place] : nullptr;
}

// The strings of an array with their pointers; nothing else.
std::vector<std::pair<std::string, std::string>> texts_of(const json& root,
                                                          const std::string& pointer) {
  std::vector<std::pair<std::string, std::string>> texts;
  const json* array = find(root, pointer);
  if (!array || !array->is_array()) return texts;
  for (size_t i = 0; i < array->size(); ++i) {
    if ((*array)[i].is_string())
      texts.emplace_back(json_pointer(pointer, std::to_string(i)), (*array)[i]);
  }
  return texts;
}

// Every device that the configuration names, with its pointer.
std::vector<std::pair<std::string, std::string>> devices_of(const json& root) {
  auto devices = texts_of(root, "/placement/prefer");
  const json* rules = find(root, "/placement/rules");
  for (size_t i = 0; rules && rules->is_array() && i < rules->size(); ++i) {
    const std::string pointer = json_pointer("/placement/rules", std::to_string(i)) + "/device";
    const json* device = find(root, pointer);
    if (device && device->is_string()) devices.emplace_back(pointer, *device);
  }
  return devices;
}

// What a malformed device was most likely meant to be: "SIM-1" is SIM:1, "CUDA:x" is CUDA.
std::string nearest_device(const std::string& text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto end = std::find_if(text.begin(), text.end(), [&](char c) {
    return !(is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_');
  });
  const std::string type(text.begin(), end);
  if (type.empty() || end == text.end()) return {};
  const std::string id(end + 1, text.end());
  const bool has_id = !id.empty() && id.size() < 6 && std::all_of(id.begin(), id.end(), is_digit);
  return json(has_id ? type + ":" + id : type).dump();
}

JsonProblem problem_with_suggestion(std::string pointer, const std::string& what,
                                    const std::string& suggestion, bool is_in_name = false) {
  return {std::move(pointer), what + suggest(suggestion), is_in_name, suggestion};
}

void check_devices(const json& root, std::vector<JsonProblem>& problems) {
  for (const auto& [pointer, text] : devices_of(root)) {
    try {
      Device::parse(text);
    } catch (const Error& error) {
      problems.push_back(problem_with_suggestion(pointer, error.message(), nearest_device(text)));
    }
  }
}

void check_passes(const json& root, std::vector<JsonProblem>& problems) {
  std::vector<std::string> names;
  for (const Pass& pass : passes()) names.emplace_back(pass.name);
  for (const auto& [pointer, name] : texts_of(root, "/session/disable_passes")) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string nearest = nearest_name(name, names);
    problems.push_back(problem_with_suggestion(
        pointer, "there is no pass \"" + name + "\"; the passes are " + list_names(names),
        nearest.empty() ? nearest : json(nearest).dump()));
  }
}

void check_supported(const json& root, const ConfigOrigins& origins,
                     std::vector<ConfigFinding>& findings) {
  const auto refuse = [&](const std::string& pointer, const std::string& why) {
    findings.push_back(to_finding(
        Code::kUnsupported,
        {pointer, "this version of gantry " + why + "; leave the member out", true, {}}, origins));
  };
  const json* precision = find(root, "/session/precision");
  if (precision && precision->is_string() && *precision != "f32" && *precision != "bf16")
    refuse("/session/precision", "implements f32 and bf16 only");
}

// Members that are named after providers, of which there are none of that name.
void check_provider_names(const json& root, const ConfigOrigins& origins,
                          const std::vector<KnownProvider>& providers,
                          std::vector<ConfigFinding>& findings) {
  std::vector<std::string> names;
  names.reserve(providers.size());
  for (const KnownProvider& provider : providers) names.push_back(provider.manifest.name);
  for (const char* place : {"/providers/options", "/providers/isolation", "/providers/worker"}) {
    const json* members = find(root, place);
    if (!members || !members->is_object()) continue;
    for (const auto& [name, value] : members->items()) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      const std::string nearest = nearest_name(name, names);
      const JsonProblem problem = problem_with_suggestion(
          json_pointer(place, name),
          "no provider of that name was found; there are " + list_names(names),
          nearest.empty() ? nearest : json(nearest).dump(), true);
      findings.push_back(to_finding(Code::kOk, problem, origins));
    }
  }
}

void check_options(const json& root, const ConfigOrigins& origins,
                   const std::vector<KnownProvider>& providers,
                   std::vector<ConfigFinding>& findings) {
  const json* all_options = find(root, "/providers/options");
  if (!all_options || !all_options->is_object()) return;
  for (const auto& [name, options] : all_options->items()) {
    const std::string pointer = json_pointer("/providers/options", name);
    for (const KnownProvider& provider : providers) {
      if (provider.manifest.name != name || !options.is_object()) continue;
      for (const JsonProblem& problem : option_problems(provider.manifest, options))
        findings.push_back(to_finding(Code::kInvalidArgument, problem, origins));
      if (!provider.is_disabled) continue;
      const char* what = "the options are for a provider that /providers/disable turns off";
      findings.push_back(to_finding(Code::kOk, {pointer, what, true, {}}, origins));
    }
  }
}

// Why no usable provider offers the type of a device; empty: one does.
JsonProblem problem_of_device(const std::string& pointer, const std::string& text,
                              const std::string& type,
                              const std::vector<KnownProvider>& providers) {
  std::vector<std::string> types;
  const KnownProvider* disabled = nullptr;
  for (const KnownProvider& provider : providers) {
    const std::vector<std::string>& own = provider.manifest.devices;
    const bool has_type = std::find(own.begin(), own.end(), type) != own.end();
    if (has_type && provider.is_usable) return {};
    if (has_type && provider.is_disabled) disabled = &provider;
    if (provider.is_usable) types.insert(types.end(), own.begin(), own.end());
  }
  if (disabled) {
    const std::string what = "the provider of " + text + ", \"" + disabled->manifest.name +
                             "\", is turned off by /providers/disable";
    return {pointer, what, false, {}};
  }
  std::string nearest = nearest_name(type, types);
  if (!nearest.empty()) nearest = json(nearest + text.substr(type.size())).dump();
  return problem_with_suggestion(
      pointer, "no provider offers devices of type " + type + "; there are " + list_names(types),
      nearest);
}

const JsonSchema& schema() {
  static const JsonSchema compiled(json::parse(config_schema()), "configs/gantry.schema.json");
  return compiled;
}

}  // namespace

void ConfigOrigins::forget(const std::string& pointer) {
  origins_.erase(pointer);
  // What stands below it starts with a slash; "0" comes next after that.
  origins_.erase(origins_.lower_bound(pointer + "/"), origins_.lower_bound(pointer + "0"));
}

void ConfigOrigins::merge(const JsonDocument& document, const std::string& name, bool has_lines) {
  for (const auto& [pointer, place] : document.places) {
    const json& value = document.root[json::json_pointer(pointer)];
    if (!value.is_object()) forget(pointer);  // objects are merged, all else is replaced
    origins_[pointer] = {name, has_lines ? place : JsonPlace{}};
  }
}

const ConfigOrigin* ConfigOrigins::find(std::string pointer) const {
  for (;;) {
    const auto found = origins_.find(pointer);
    if (found != origins_.end()) return &found->second;
    const size_t slash = pointer.rfind('/');
    if (slash == std::string::npos) return nullptr;
    pointer.resize(slash);
  }
}

std::string ConfigOrigins::text_of(const std::string& pointer) const {
  const auto found = origins_.find(pointer);
  if (found == origins_.end()) return "default";
  return at_position(found->second.document, found->second.place.value);
}

ConfigFinding to_finding(Code code, const JsonProblem& problem, const ConfigOrigins& origins) {
  ConfigFinding finding{code, "configuration", 0, 0, problem.pointer, problem.what, {}, {}};
  finding.suggestion = problem.suggestion;
  if (const ConfigOrigin* origin = origins.find(problem.pointer)) {
    const JsonPosition at = problem.is_in_name ? origin->place.name : origin->place.value;
    finding.document = origin->document;
    finding.line = at.line;
    finding.column = at.column;
  }
  return finding;
}

std::vector<ConfigFinding> document_findings(const json& root, const ConfigOrigins& origins) {
  std::vector<JsonProblem> problems;
  check_devices(root, problems);
  check_passes(root, problems);
  for (JsonProblem& problem : schema().problems(root)) {
    const bool is_known = std::any_of(problems.begin(), problems.end(), [&](const auto& known) {
      return known.pointer == problem.pointer;
    });
    if (!is_known) problems.push_back(std::move(problem));
  }
  std::vector<ConfigFinding> findings;
  findings.reserve(problems.size());
  for (const JsonProblem& problem : problems)
    findings.push_back(to_finding(Code::kInvalidArgument, problem, origins));
  check_supported(root, origins, findings);
  return findings;
}

std::vector<ConfigFinding> provider_findings(const json& root, const ConfigOrigins& origins,
                                             const std::vector<KnownProvider>& providers) {
  std::vector<ConfigFinding> findings;
  check_provider_names(root, origins, providers, findings);
  check_options(root, origins, providers, findings);
  for (const auto& [pointer, text] : devices_of(root)) {
    try {
      const JsonProblem problem =
          problem_of_device(pointer, text, Device::parse(text).type, providers);
      if (!problem.what.empty()) findings.push_back(to_finding(Code::kOk, problem, origins));
    } catch (const Error&) {  // the document's own problem
    }
  }
  return findings;
}

void sort_findings(std::vector<ConfigFinding>& findings) {
  std::vector<std::string> documents;
  for (const ConfigFinding& finding : findings) {
    if (std::find(documents.begin(), documents.end(), finding.document) == documents.end())
      documents.push_back(finding.document);
  }
  const auto key = [&](const ConfigFinding& finding) {
    return std::tuple(std::find(documents.begin(), documents.end(), finding.document), finding.line,
                      finding.column);
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

void throw_errors_of(const std::vector<ConfigFinding>& findings) {
  std::string message;
  Code code = Code::kOk;
  for (const ConfigFinding& finding : findings) {
    if (finding.code == Code::kOk) continue;
    message += (message.empty() ? "" : "\n") + to_string(finding) + finding.excerpt;
    if (code != Code::kInvalidArgument) code = finding.code;
  }
  if (code != Code::kOk) throw Error(code, message);
}

std::string to_string(const ConfigFinding& finding) {
  return at_position(finding.document, {finding.line, finding.column}) + ": " +
         (finding.pointer.empty() ? "" : finding.pointer + ": ") + finding.message;
}

}  // namespace gantry
