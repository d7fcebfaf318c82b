// SPDX-License-Identifier: Apache-2.0
#include "session/config/config_diagnostics.h"

#include <gantry/device.h>

#include <algorithm>
#include <tuple>

#include "base/names.h"
#include "passes/pipeline.h"
#include "plugin/discovery/trusted_path.h"
#include "session/config/config_positions.h"
#include "session/config/config_schema.h"

namespace gantry {
namespace {

using nlohmann::json;

// The device most similar to a malformed one: SIM:1 for "SIM-1", CUDA for "CUDA:x".
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

void check_devices(const json& root, std::vector<JsonProblem>& problems) {
  for (const auto& [pointer, text] : placed_devices(root)) {
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
  for (const auto& [pointer, name] : placed_texts(root, "/session/disable_passes")) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string nearest = nearest_name(name, names);
    problems.push_back(problem_with_suggestion(
        pointer, "there is no pass \"" + name + "\"; the passes are " + list_names(names),
        nearest.empty() ? nearest : json(nearest).dump()));
  }
}

void check_trust(const json& root, std::vector<JsonProblem>& problems) {
  for (const auto& [pointer, named] : placed_texts(root, "/providers/trust")) {
    if (fault_of_trust(named) != TrustFault::kForm) continue;
    const bool is_name = !named.empty() && named.find(':') == std::string::npos;
    problems.push_back(problem_with_suggestion(
        pointer, "expected \"user:NAME\" or \"group:NAME\", found the string " + json(named).dump(),
        is_name ? json("user:" + named).dump() : std::string()));
  }
}

const JsonSchema& schema() {
  static const JsonSchema all(parsed_config_schema(), "configs/gantry.schema.json");
  return all;
}

}  // namespace

void ConfigOrigins::merge(const JsonDocument& document, const std::string& name, bool has_lines) {
  documents_.push_back({document.positions, name, has_lines});
}

std::optional<ConfigOrigin> ConfigOrigins::exact(const std::string& pointer) const {
  for (auto document = documents_.rbegin(); document != documents_.rend(); ++document) {
    bool is_it = false;
    const JsonPositions::Member* const member = document->positions.innermost(pointer, is_it);
    if (is_it) {
      return ConfigOrigin{document->name,
                          document->has_lines ? member->position : JsonMemberPosition{}};
    }
    // Objects are merged; any other value replaces the member of earlier documents and its members.
    if (member && !member->is_object) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<ConfigOrigin> ConfigOrigins::find(std::string pointer) const {
  for (;;) {
    if (std::optional<ConfigOrigin> origin = exact(pointer)) return origin;
    const size_t slash = pointer.rfind('/');
    if (slash == std::string::npos) return std::nullopt;
    pointer.resize(slash);
  }
}

std::string ConfigOrigins::text_of(const std::string& pointer) const {
  const std::optional<ConfigOrigin> origin = exact(pointer);
  return origin ? at_position(origin->document, origin->position.value) : "default";
}

ConfigFinding to_finding(Code code, const JsonProblem& problem, const ConfigOrigins& origins) {
  ConfigFinding finding{code, "configuration", 0, 0, problem.pointer, problem.what, {}, {}};
  finding.suggestion = problem.suggestion;
  if (const std::optional<ConfigOrigin> origin = origins.find(problem.pointer)) {
    const JsonPosition at = problem.is_in_name ? origin->position.name : origin->position.value;
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
  check_trust(root, problems);
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
