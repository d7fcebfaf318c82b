// SPDX-License-Identifier: Apache-2.0
#include "session/config/precision.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/names.h"

namespace gantry {
namespace {

using nlohmann::json;

constexpr const char* kOption = "precision";

// The schema of the option; null: the provider does not have the option.
json option_schema(const Manifest& manifest) {
  const json schema = json::parse(manifest.options_schema);
  const auto members = schema.find("properties");
  return members == schema.end() ? json() : members->value(kOption, json());
}

// The values that a manifest lists.
std::vector<std::string> listed(const Manifest& manifest) {
  std::vector<std::string> values;
  const json schema = option_schema(manifest);
  if (!schema.is_object() || !schema.contains("enum")) return values;
  for (const json& value : schema["enum"]) {
    if (value.is_string()) values.push_back(value.get<std::string>());
  }
  return values;
}

}  // namespace

bool takes_precision(const Manifest& manifest, const std::string& precision) {
  if (option_schema(manifest).is_null()) return false;
  const std::vector<JsonProblem> problems = option_problems(manifest, {{kOption, precision}});
  const std::string pointer = json_pointer("/providers/options", manifest.name) + "/" + kOption;
  return std::none_of(problems.begin(), problems.end(),
                      [&](const JsonProblem& problem) { return problem.pointer == pointer; });
}

std::string with_precision(const Manifest& manifest, const std::string& own,
                           const std::string& precision) {
  if (precision == kFullPrecision) return own;
  auto options = json::parse(own);
  if (options.contains(kOption) || !takes_precision(manifest, precision)) return own;
  options[kOption] = precision;
  return options.dump();
}

std::string precision_refusal(const std::vector<const Manifest*>& manifests,
                              const std::string& where, const std::string& precision) {
  std::string text = "no provider " + where + " computes in \"" + precision + "\"";
  std::set<std::string> told;
  for (const Manifest* manifest : manifests) {
    const std::vector<std::string> values = listed(*manifest);
    if (!values.empty() && told.insert(manifest->name).second)
      text += "; \"" + manifest->name + "\" takes " + list_names(values);
  }
  return text + ". Leave the member out";
}

}  // namespace gantry
