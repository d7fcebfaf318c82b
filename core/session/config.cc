// SPDX-License-Identifier: Apache-2.0
#include "session/config.h"

#include <gantry/device.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/names.h"
#include "plugin/strict_json.h"

namespace gantry {
namespace {

using nlohmann::json;

// Every leaf of a document; arrays are leaves, as they are replaced whole.
void note_origins(const json& value, const std::string& pointer, const std::string& origin,
                  std::map<std::string, std::string>& origins) {
  if (!value.is_object() || value.empty()) {
    origins[pointer] = origin;
    return;
  }
  for (const auto& [member, item] : value.items())
    note_origins(item, json_pointer(pointer, member), origin, origins);
}

[[noreturn]] void refuse(const std::string& subject, const std::string& pointer,
                         const std::string& why) {
  throw Error(Code::kUnsupported, subject + ": " + pointer + ": " + why + "; leave the member out");
}

// What the schema knows because the design does, and this version does not do: ignoring it would be
// a lie.
void check_supported(const json& document, const std::string& subject) {
  for (const char* pointer : {"/providers/isolation", "/session/profile"}) {
    if (document.contains(json::json_pointer(pointer)))
      refuse(subject, pointer, "this version of gantry does not implement it");
  }
  const json::json_pointer precision("/session/precision");
  if (document.contains(precision) && document[precision] != "f32") {
    refuse(subject, "/session/precision", "this version of gantry implements f32 only");
  }
}

std::vector<std::string> texts(const json& root, const char* pointer) {
  const json::json_pointer place(pointer);
  return root.contains(place) ? root[place].get<std::vector<std::string>>()
                              : std::vector<std::string>();
}

void check_device(const json& text, const std::string& subject, const std::string& pointer) {
  try {
    Device::parse(text.get_ref<const std::string&>());
  } catch (const Error& error) {
    throw error.in(subject + ": " + pointer);
  }
}

void check_devices(const json& document, const std::string& subject) {
  const json empty = json::array();
  const json& placement = document.contains("placement") ? document["placement"] : empty;
  const json& prefer = placement.contains("prefer") ? placement["prefer"] : empty;
  for (size_t i = 0; i < prefer.size(); ++i) {
    check_device(prefer[i], subject, json_pointer("/placement/prefer", std::to_string(i)));
  }
  const json& rules = placement.contains("rules") ? placement["rules"] : empty;
  for (size_t i = 0; i < rules.size(); ++i) {
    check_device(rules[i]["device"], subject,
                 json_pointer("/placement/rules", std::to_string(i)) + "/device");
  }
}

json checked(const Config::Document& document) {
  const std::string subject = "configuration (" + document.origin + ")";
  json root = parse_json(document.text, subject);
  static const JsonSchema schema(json::parse(config_schema()), "configs/gantry.schema.json");
  schema.check(root, subject);
  if (!root.is_object()) {
    throw Error(Code::kInvalidArgument,
                subject + ": /: expected an object, found " + describe_json(root));
  }
  check_supported(root, subject);
  check_devices(root, subject);
  return root;
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

void fill(const json& root, Config& config) {
  config.providers.search = texts(root, "/providers/search");
  config.providers.disable = texts(root, "/providers/disable");
  const json::json_pointer options("/providers/options");
  if (root.contains(options)) {
    for (const auto& [name, value] : root[options].items())
      config.providers.options[name] = value.dump();
  }
  const json providers = root.value("providers", json::object());
  config.providers.priority = providers.value("priority", std::map<std::string, int64_t>());
  config.providers.probe = providers.value("probe", "");
  config.placement.prefer = texts(root, "/placement/prefer");
  const json placement = root.value("placement", json::object());
  config.placement.fallback = to_fallback(placement.value("fallback", "error"));
  config.placement.cost_model = placement.value("cost_model", false);
  for (const json& rule : placement.value("rules", json::array()))
    config.placement.rules.push_back(to_rule(rule));
  const json session = root.value("session", json::object());
  config.session.threads = session.value("threads", 0);
  config.session.optimization = to_optimization(session.value("optimization", "all"));
  config.session.disable_passes = texts(root, "/session/disable_passes");
  config.session.memory_limit_bytes =
      session.value("memory_limit_bytes", config.session.memory_limit_bytes);
  config.session.capture = session.value("capture", config.session.capture);
  config.session.stop_grace_ms = session.value("stop_grace_ms", config.session.stop_grace_ms);
  config.text = root.dump(2);
}

}  // namespace

bool PlacementRule::matches(const std::string& node_op_type, const std::string& node_domain,
                            const std::string& node_name) const {
  return (op_type.empty() || op_type == node_op_type) && (!domain || *domain == node_domain) &&
         (name.empty() || matches_pattern(name, node_name));
}

Config Config::parse(const std::vector<Document>& documents) {
  Config config;
  json merged = json::object();
  for (const Document& document : documents) {
    if (document.text.empty()) continue;
    const json root = checked(document);
    merged.merge_patch(root);
    note_origins(root, "", document.origin, config.origins);
  }
  fill(merged, config);
  const auto search = config.origins.find("/providers/search");
  config.providers.is_search_from_environment =
      search != config.origins.end() && search->second.rfind("GANTRY_CONFIG", 0) == 0;
  return config;
}

Config::Document Config::of_environment() {
  Document document{"GANTRY_CONFIG", {}};
  const char* path = secure_getenv("GANTRY_CONFIG");
  if (!path || !*path) return document;
  std::ifstream stream(path, std::ios::binary);
  document.text.assign(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  if (!stream.good() && !stream.eof()) {
    throw Error(Code::kNotFound, std::string("GANTRY_CONFIG names ") + path +
                                     ", which cannot be read; expected a JSON file");
  }
  if (document.text.empty()) {
    throw Error(Code::kNotFound, std::string("GANTRY_CONFIG names ") + path +
                                     ", which is missing or empty; expected a JSON file");
  }
  document.origin += " " + std::string(path);
  return document;
}

}  // namespace gantry
