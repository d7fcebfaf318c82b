// SPDX-License-Identifier: Apache-2.0
// The configuration for the command line and other front ends: see gantry/config.h.
#include <gantry/config.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/names.h"
#include "base/thread_pool.h"
#include "session/config/config.h"
#include "session/runtime_impl.h"

namespace gantry {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Settings that find the manifests that a document adds; invalid parts are ignored.
ProviderSettings provider_settings(const json& root) {
  ProviderSettings settings;
  for (auto [member, list] : {std::pair{"search", &settings.search},
                              {"disable", &settings.disable},
                              {"trust", &settings.trust}}) {
    const json::json_pointer place(std::string("/providers/") + member);
    if (!root.contains(place) || !root[place].is_array()) continue;
    for (const json& item : root[place]) {
      if (item.is_string()) list->push_back(item);
    }
  }
  return settings;
}

// The values of a configuration in the order of the schema.
class Facts {
 public:
  Facts(const Config& config, const std::vector<KnownProvider>& providers)
      : config_(config), providers_(providers) {}

  std::vector<ConfigValue> of(const ordered_json& schema, const SessionOptions& options) {
    walk(schema, {});
    for (ConfigValue& value : values_) {
      if (value.pointer == "/placement/prefer" && !options.device.empty())
        value = {value.pointer, json::array({options.device}).dump(), "code"};
      if (value.pointer == "/session/threads" && value.value == "null")
        value.value = std::to_string(hardware_threads());
    }
    return std::move(values_);
  }

 private:
  void walk(const ordered_json& schema, const std::string& pointer) {
    if (pointer == "/$schema") return;  // for editors, not a setting
    if (pointer == "/providers/options") {
      add_options(pointer);
    } else if (schema.contains("properties")) {
      for (const auto& [name, part] : schema["properties"].items())
        walk(part, json_pointer(pointer, name));
    } else {
      add(pointer, {});
    }
  }

  // Adds the options of each provider: those in its schema and those that are set.
  void add_options(const std::string& pointer) {
    const json::json_pointer place(pointer);
    std::vector<std::string> names;
    for (const KnownProvider& provider : providers_) {
      names.push_back(provider.manifest.name);
      const std::string here = json_pointer(pointer, provider.manifest.name);
      const auto schema = ordered_json::parse(provider.manifest.options_schema);
      const ordered_json members = schema.value("properties", ordered_json::object());
      for (const auto& [member, part] : members.items())
        add(json_pointer(here, member), part.contains("default") ? json(part["default"]) : json());
    }
    for (const auto& [name, options] : config_.root[place].items()) {
      for (const auto& [member, value] : options.items()) {
        const std::string here = json_pointer(json_pointer(pointer, name), member);
        const bool is_there = std::any_of(values_.begin(), values_.end(),
                                          [&](const auto& known) { return known.pointer == here; });
        if (!is_there) add(here, {});
      }
    }
  }

  void add(const std::string& pointer, const json& fallback) {
    const json::json_pointer place(pointer);
    const json& value = config_.root.contains(place) ? config_.root[place] : fallback;
    values_.push_back({pointer, value.dump(), config_.origins.text_of(pointer)});
  }

  const Config& config_;
  const std::vector<KnownProvider>& providers_;
  std::vector<ConfigValue> values_;
};

}  // namespace

std::vector<ConfigFinding> check_config(const std::string& text, const std::string& name) {
  CheckedDocument checked = check_document({"runtime", text, name});
  std::vector<ConfigFinding> findings = std::move(checked.findings);
  const json& root = checked.document.root;
  if (root.is_object()) {
    ProviderRegistry registry(provider_settings(root));
    for (ConfigFinding& finding : provider_findings(root, checked.origins, registry.known()))
      findings.push_back(std::move(finding));
  }
  sort_findings(findings);
  return findings;
}

std::vector<ConfigValue> effective_config(Runtime& runtime, const SessionOptions& options) {
  const Config config = runtime.impl().session_config(options);
  const std::vector<KnownProvider> providers = runtime.impl().registry.known();
  return Facts(config, providers).of(ordered_json::parse(config_schema()), options);
}

std::string config_schema(Runtime& runtime, const std::vector<std::string>& providers) {
  auto schema = ordered_json::parse(config_schema());
  ordered_json& options = schema["properties"]["providers"]["properties"]["options"]["properties"];
  options = ordered_json::object();
  std::vector<std::string> names;
  for (const KnownProvider& known : runtime.impl().registry.known()) {
    const std::string& name = known.manifest.name;
    names.push_back(name);
    const bool is_wanted =
        providers.empty() || std::find(providers.begin(), providers.end(), name) != providers.end();
    if (!is_wanted || options.contains(name)) continue;
    auto own = ordered_json::parse(known.manifest.options_schema);
    // References within the options schema are relative to its own root.
    if (known.manifest.options_schema.find("\"$ref\"") != std::string::npos && !own.contains("$id"))
      own["$id"] = "gantry-provider-" + name + ".json";
    options[name] = std::move(own);
  }
  for (const std::string& name : providers) {
    if (options.contains(name)) continue;
    throw Error(Code::kNotFound, "no manifest has the provider name \"" + name + "\"; there are " +
                                     list_names(names) + "." + did_you_mean(name, names));
  }
  return schema.dump(2);
}

}  // namespace gantry
