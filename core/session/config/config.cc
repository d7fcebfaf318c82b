// SPDX-License-Identifier: Apache-2.0
#include "session/config/config.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/auxv.h>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/names.h"
#include "session/config/config_schema.h"

namespace gantry {
namespace {

using nlohmann::json;

std::vector<std::string> texts(const json& root, const char* pointer) {
  return root[json::json_pointer(pointer)].get<std::vector<std::string>>();
}

// The defaults of all members of the schema, as a document.
json defaults_of(const json& schema) {
  if (schema.contains("default")) return schema["default"];
  json result = json::object();
  if (!schema.contains("properties")) return result;
  for (const auto& [name, part] : schema["properties"].items()) {
    const json value = defaults_of(part);
    if (part.contains("default") || !value.empty()) result[name] = value;
  }
  return result;
}

const json& all_defaults() {
  static const json all = defaults_of(parsed_config_schema());
  return all;
}

Fallback to_fallback(const std::string& name) {
  if (name == "warn") return Fallback::kWarn;
  return name == "allow" ? Fallback::kAllow : Fallback::kError;
}

Optimization to_optimization(const std::string& name) {
  if (name == "none") return Optimization::kNone;
  return name == "basic" ? Optimization::kBasic : Optimization::kAll;
}

PlacementRule to_rule(const json& rule) {
  PlacementRule result;
  result.op_type = rule.value("op_type", "");
  if (rule.contains("domain")) result.domain = rule["domain"].get<std::string>();
  result.name = rule.value("name", "");
  result.device = rule["device"].get<std::string>();
  return result;
}

IsolationSettings to_worker(const json& given) {
  const json::json_pointer place("/properties/providers/properties/worker/additionalProperties");
  json limits = defaults_of(parsed_config_schema()[place]);
  limits.update(given);
  IsolationSettings worker;
  worker.start_timeout_ms = limits["start_timeout_ms"];
  worker.compile_timeout_ms = limits["compile_timeout_ms"];
  worker.run_timeout_ms = limits.value("run_timeout_ms", worker.run_timeout_ms);
  worker.stop_grace_ms = limits["stop_grace_ms"];
  worker.memory_limit_bytes = limits.value("memory_limit_bytes", worker.memory_limit_bytes);
  worker.is_sandboxed = limits["sandbox"];
  worker.environment = limits["environment"].get<std::vector<std::string>>();
  return worker;
}

// GANTRY_ARTEFACT_CACHE, unless the process has raised privileges. The folder is checked as any
// other.
std::string artefact_cache_of_environment() {
  const char* folder = secure_getenv("GANTRY_ARTEFACT_CACHE");
  return folder ? folder : "";
}

// Reads the merged document, which has all defaults: they are in the schema and nowhere else.
void fill(const json& root, Config& config) {
  config.providers.search = texts(root, "/providers/search");
  config.providers.disable = texts(root, "/providers/disable");
  config.providers.trust = texts(root, "/providers/trust");
  for (const auto& [name, value] : root["providers"]["options"].items())
    config.providers.options[name] = value.dump();
  const json& providers = root["providers"];
  config.providers.priority = providers["priority"].get<std::map<std::string, int64_t>>();
  config.providers.probe = providers.value("probe", "");
  for (const auto& [name, mode] : providers["isolation"].items())
    config.providers.isolated[name] = mode == "process";
  for (const auto& [name, limits] : providers["worker"].items())
    config.providers.workers[name] = to_worker(limits);
  const json& placement = root["placement"];
  config.placement.prefer = texts(root, "/placement/prefer");
  config.placement.fallback = to_fallback(placement["fallback"]);
  config.placement.cost_model = placement["cost_model"];
  for (const json& rule : placement["rules"]) config.placement.rules.push_back(to_rule(rule));
  const json& session = root["session"];
  config.session.threads = session.value("threads", 0);
  config.session.optimization = to_optimization(session["optimization"]);
  config.session.profile = session.value("profile", "");
  config.session.disable_passes = texts(root, "/session/disable_passes");
  config.session.dimensions = session["dimensions"].get<std::map<std::string, int64_t>>();
  config.session.memory_limit_bytes =
      session.value("memory_limit_bytes", config.session.memory_limit_bytes);
  config.session.capture = session["capture"];
  config.session.map_files = session["map_files"];
  config.session.artefact_cache = session.value("artefact_cache", artefact_cache_of_environment());
  if (config.session.artefact_cache == "off") config.session.artefact_cache.clear();
  config.session.artefact_cache_limit_bytes = session["artefact_cache_limit_bytes"];
  config.session.stop_grace_ms = session["stop_grace_ms"];
  config.session.precision = session["precision"];
}

}  // namespace

bool PlacementRule::matches(const std::string& node_op_type, const std::string& node_domain,
                            const std::string& node_name) const {
  return (op_type.empty() || op_type == node_op_type) && (!domain || *domain == node_domain) &&
         (name.empty() || matches_pattern(name, node_name));
}

std::string Config::Document::name() const {
  if (file.empty()) return "configuration (" + layer + ")";
  return layer == "GANTRY_CONFIG" ? layer + " " + file : file;
}

std::string Config::where(const std::string& pointer) const {
  const ConfigFinding finding = to_finding(Code::kOk, {pointer, {}, false, {}}, origins);
  return at_position(finding.document, {finding.line, finding.column}) + ": " + pointer;
}

CheckedDocument check_document(const Config::Document& document) {
  CheckedDocument checked;
  const std::string name = document.name();
  if (document.text.empty()) {
    const char* what =
        "expected a JSON object, found an empty text (config_file only names the text that "
        "config_json has; read_config() reads a file)";
    checked.findings.push_back({Code::kInvalidArgument, name, 1, 1, {}, what, {}, {}});
    return checked;
  }
  try {
    checked.document = parse_json(document.text, name);
  } catch (const JsonError& error) {
    const JsonPosition at = error.position();
    ConfigFinding finding{error.code(),          name, at.line, at.column, {},
                          error.what_is_wrong(), {},   {}};
    if (at.line > 0) finding.excerpt = excerpt(document.text, at);
    checked.findings.push_back(std::move(finding));
    return checked;
  }
  checked.origins.merge(checked.document, name, !document.file.empty());
  checked.findings = document_findings(checked.document.root, checked.origins);
  return checked;
}

Config Config::parse(const std::vector<Document>& documents) {
  Config config;
  config.root = all_defaults();
  std::vector<ConfigFinding> findings;
  for (const Document& document : documents) {
    if (document.text.empty() && document.file.empty()) continue;
    CheckedDocument checked = check_document(document);
    std::move(checked.findings.begin(), checked.findings.end(), std::back_inserter(findings));
    config.root.merge_patch(checked.document.root);
    config.origins.merge(checked.document, document.name(), !document.file.empty());
  }
  sort_findings(findings);
  throw_errors_of(findings);
  fill(config.root, config);
  const std::optional<ConfigOrigin> search = config.origins.find("/providers/search");
  config.providers.is_search_from_environment = config.origins.contains("/providers/search") &&
                                                search->document.starts_with("GANTRY_CONFIG ");
  return config;
}

Config::Document Config::of_environment() { return of_environment(getauxval(AT_SECURE) != 0); }

Config::Document Config::of_environment(bool is_elevated) {
  Document document{"GANTRY_CONFIG", {}};
  const char* path = std::getenv("GANTRY_CONFIG");
  if (!path || !*path) return document;
  if (is_elevated) {
    log(LogLevel::kWarning,
        "GANTRY_CONFIG is ignored: this process has raised privileges, which its environment must "
        "not steer; give the configuration in code or with --config");
    return document;
  }
  const auto fail = [&](const std::string& reason) {
    throw Error(Code::kNotFound, std::string("GANTRY_CONFIG names ") + path +
                                     ", which cannot be read: " + reason +
                                     "; expected a JSON file");
  };
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) fail("it is a folder");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(std::generic_category().message(errno));
  document.text.assign(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  if (document.text.empty()) fail("it is empty");
  document.file = path;
  return document;
}

}  // namespace gantry
