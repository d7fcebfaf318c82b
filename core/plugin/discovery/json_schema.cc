// SPDX-License-Identifier: Apache-2.0
#ifndef VALIJSON_USE_EXCEPTIONS
#define VALIJSON_USE_EXCEPTIONS 1  // without it an invalid schema would end the process
#endif
#include <algorithm>
#include <cmath>
#include <string_view>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "base/names.h"
#include "plugin/discovery/plain_schema.h"
#include "plugin/discovery/strict_json.h"

namespace gantry {
namespace {

using nlohmann::json;
using valijson::adapters::NlohmannJsonAdapter;

// The subschema of a member in `properties`, else that of `additionalProperties`; null: none.
const json* schema_of_member(const json& schema, const std::string& member) {
  if (!schema.is_object()) return nullptr;
  const auto properties = schema.find("properties");
  if (properties != schema.end() && properties->contains(member)) return &properties->at(member);
  const auto others = schema.find("additionalProperties");
  return others != schema.end() && others->is_object() ? &*others : nullptr;
}

const json* schema_of_item(const json& schema) {
  const auto items = schema.is_object() ? schema.find("items") : schema.end();
  return items != schema.end() && items->is_object() ? &*items : nullptr;
}

bool is_closed(const json& schema) {
  const auto others = schema.find("additionalProperties");
  return others != schema.end() && others->is_boolean() && !others->get<bool>() &&
         !schema.contains("patternProperties");
}

std::string list_values(const json& values) {
  std::vector<std::string> texts;
  for (const json& value : values) texts.push_back(value.dump());
  return list_names(texts);
}

// The one type that a schema names; empty: none, or several.
std::string json_type_of(const json& schema) {
  const auto type = schema.find("type");
  return type != schema.end() && type->is_string() ? type->get<std::string>() : std::string();
}

// "an integer from 0 to 9": a type with the keywords that concern it.
std::string expected_type(const json& schema, const std::string& type) {
  std::string text =
      (type == "array" || type == "integer" || type == "object" ? "an " : "a ") + type;
  const auto add = [&](const char* keyword, const char* words) {
    if (schema.contains(keyword)) text += words + schema[keyword].dump();
  };
  if (type == "integer" || type == "number") {
    const bool has_both = schema.contains("minimum") && schema.contains("maximum");
    add("minimum", has_both ? " from " : " of at least ");
    add("maximum", has_both ? " to " : " of at most ");
    add("exclusiveMinimum", " greater than ");
    add("exclusiveMaximum", " less than ");
  } else if (type == "string") {
    add("pattern", " that matches ");
    if (schema.value("minLength", 0) == 1) {
      text += " that is not empty";
    } else {
      add("minLength", " of a length of at least ");
    }
    add("maxLength", " of a length of at most ");
  } else if (type == "array") {
    add("minItems", " of a length of at least ");
  }
  return text;
}

// The parts of a text with commas between.
std::vector<std::string_view> split_at_commas(std::string_view rest) {
  std::vector<std::string_view> parts;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    std::string_view part = rest.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return parts;
}

// The list that was probably meant: of a single item, or of a text with commas.
std::string suggested_list(const json& items, const json& value) {
  const std::string type = json_type_of(items);
  if (value.is_object()) return type == "object" ? json::array({value}).dump() : std::string();
  if (!value.is_string()) return {};
  json list = json::array();
  for (const std::string_view part : split_at_commas(value.get_ref<const std::string&>())) {
    list.push_back(std::string(part));
    const bool is_choice =
        items.contains("enum") &&
        std::find(items["enum"].begin(), items["enum"].end(), list.back()) != items["enum"].end();
    if (!is_choice && type != "string") return {};
  }
  return list.dump();
}

// Describes what a schema expects, by the keywords of plain schemas; empty: unknown.
std::string expectation_of(const json& schema) {
  if (schema.contains("enum")) return "one of " + list_values(schema["enum"]);
  if (schema.contains("const")) return schema["const"].dump();
  if (!schema.contains("type")) return {};
  if (schema["type"].is_string()) return expected_type(schema, json_type_of(schema));
  std::string text;
  for (const json& type : schema["type"]) {
    if (!type.is_string()) return {};
    text += (text.empty() ? "" : " or ") + expected_type(schema, type.get<std::string>());
  }
  return text;
}

// The value, as JSON, that was probably meant by one that the schema rejects; empty: unknown.
std::string suggestion_for(const json& schema, const json& value) {
  if (schema.contains("enum") && value.is_string()) {
    std::vector<std::string> names;
    for (const json& choice : schema["enum"]) {
      if (choice.is_string()) names.push_back(choice);
    }
    const std::string nearest = nearest_name(value.get_ref<const std::string&>(), names);
    return nearest.empty() ? std::string() : json(nearest).dump();
  }
  const std::string type = json_type_of(schema);
  if (value.is_string()) {  // a quoted 2 or true
    const json bare = json::parse(value.get_ref<const std::string&>(), nullptr, false);
    if ((type == "integer" && bare.is_number_integer()) || (type == "number" && bare.is_number()) ||
        (type == "boolean" && bare.is_boolean()))
      return bare.dump();
  }
  if (type == "integer" && value.is_number_float()) {  // 2.0
    const double number = value;
    if (number == std::trunc(number) && std::abs(number) < 1e15)
      return std::to_string(static_cast<int64_t>(number));
  }
  const json* items = schema_of_item(schema);
  return type == "array" && items ? suggested_list(*items, value) : std::string();
}

std::vector<std::string> names_of_members(const json& schema) {
  std::vector<std::string> names;
  if (schema.contains("properties")) {
    for (const auto& [name, unused] : schema["properties"].items()) names.push_back(name);
  }
  return names;
}

// Another place of the schema that has a member of that name; empty: none.
std::string known_elsewhere(const json& schema, const std::string& member,
                            const std::string& pointer) {
  if (!schema.is_object() || !schema.contains("properties")) return {};
  for (const auto& [name, part] : schema["properties"].items()) {
    if (name == member) return pointer.empty() ? "/" : pointer;
    std::string found = known_elsewhere(part, member, json_pointer(pointer, name));
    if (!found.empty()) return found;
  }
  return {};
}

JsonProblem unknown_member(const json& root_schema, const json& schema, const std::string& member,
                           const std::string& pointer) {
  const std::vector<std::string> names = names_of_members(schema);
  const std::string nearest = nearest_name(member, names);
  JsonProblem problem{pointer, {}, true, nearest.empty() ? nearest : json(nearest).dump()};
  problem.what =
      "unknown member; expected " + (names.empty() ? "no members" : "one of " + list_names(names));
  const std::string elsewhere =
      nearest.empty() ? known_elsewhere(root_schema, member, {}) : std::string();
  if (!elsewhere.empty()) problem.what += "; \"" + member + "\" is a member of " + elsewhere;
  problem.what += suggest(problem.suggestion);
  return problem;
}

// Finds unknown and missing members of a closed object, with better messages than the validator's.
void check_members(const json& root_schema, const json& schema, const json& document,
                   const std::string& pointer, std::vector<JsonProblem>& problems) {
  if (document.is_array()) {
    const json* items = schema_of_item(schema);
    for (size_t i = 0; items && i < document.size(); ++i) {
      check_members(root_schema, *items, document[i], json_pointer(pointer, std::to_string(i)),
                    problems);
    }
  }
  if (!document.is_object() || !schema.is_object()) return;
  std::vector<std::string> meant;
  for (const auto& [member, value] : document.items()) {
    const std::string here = json_pointer(pointer, member);
    if (const json* known = schema_of_member(schema, member)) {
      check_members(root_schema, *known, value, here, problems);
    } else if (is_closed(schema)) {
      problems.push_back(unknown_member(root_schema, schema, member, here));
      meant.push_back(problems.back().suggestion);
    }
  }
  const auto required = schema.find("required");
  if (required == schema.end() || !required->is_array()) return;
  for (const json& member : *required) {
    const bool is_missing =
        member.is_string() && !document.contains(member.get_ref<const std::string&>());
    // A misspelt member is one problem.
    if (is_missing && std::find(meant.begin(), meant.end(), member.dump()) == meant.end()) {
      problems.push_back(
          {json_pointer(pointer, member), "expected this member, found none", false, {}});
    }
  }
}

// The validator's context is a list like "<root>", "[providers]", "[0]".
std::vector<std::string> path_of(const std::vector<std::string>& context) {
  std::vector<std::string> path;
  for (const std::string& step : context) {
    if (step.size() > 2 && step.front() == '[') path.push_back(step.substr(1, step.size() - 2));
  }
  return path;
}

// The problem that the validator found at `path`, in terms of the schema there.
JsonProblem problem_at(const std::vector<std::string>& path, const std::string& description,
                       const json& root_schema, const json& document, std::string pointer) {
  const json* schema = &root_schema;
  const json* value = &document;
  for (const std::string& step : path) {
    pointer = json_pointer(pointer, step);
    if (value && value->is_array()) {
      schema = schema ? schema_of_item(*schema) : nullptr;
      const size_t index = std::stoul(step);
      value = index < value->size() ? &(*value)[index] : nullptr;
    } else {
      schema = schema ? schema_of_member(*schema, step) : nullptr;
      value = value && value->is_object() && value->contains(step) ? &(*value)[step] : nullptr;
    }
  }
  const bool is_plain = schema && schema->is_object();
  const std::string expected = is_plain ? expectation_of(*schema) : std::string();
  JsonProblem problem{pointer, expected.empty() ? description : "expected " + expected, false, {}};
  if (value) {
    problem.what += (expected.empty() ? " Found " : ", found ") + describe_json(*value);
    if (is_plain) problem.suggestion = suggestion_for(*schema, *value);
  }
  problem.what += suggest(problem.suggestion);
  return problem;
}

bool is_at_or_below(const std::string& pointer, const std::string& top) {
  return pointer.starts_with(top) && (pointer.size() == top.size() || pointer[top.size()] == '/');
}

}  // namespace

struct JsonSchema::Compiled {
  explicit Compiled(const json& source) {
    valijson::SchemaParser parser;
    parser.populateSchema(NlohmannJsonAdapter(source), schema);
  }
  valijson::Schema schema;
};

JsonSchema::JsonSchema(json schema, const std::string& subject, const std::string& pointer)
    : schema_(std::move(schema)) {
  if (is_plain_schema(schema_)) return;
  try {
    compiled_ = std::make_unique<Compiled>(schema_);
  } catch (const std::exception& error) {
    throw Error(
        Code::kInvalidArgument,
        subject + ": " + pointer +
            ": expected a JSON Schema, found one that the validator refuses: " + error.what());
  }
}

JsonSchema::~JsonSchema() = default;

std::vector<JsonProblem> JsonSchema::problems(const json& document,
                                              const std::string& pointer) const {
  if (compiled_) return problems_of(*compiled_, document, pointer);
  if (fits_plainly(schema_, document)) return {};
  return problems_of(Compiled(schema_), document, pointer);
}

std::vector<JsonProblem> JsonSchema::problems_of(const Compiled& compiled, const json& document,
                                                 const std::string& pointer) const {
  std::vector<JsonProblem> problems;
  check_members(schema_, schema_, document, pointer, problems);
  valijson::Validator validator;
  valijson::ValidationResults results;
  try {
    validator.validate(compiled.schema, NlohmannJsonAdapter(document), &results);
  } catch (const std::exception& error) {
    problems.push_back({pointer, std::string("could not be checked: ") + error.what(), false, {}});
    return problems;
  }
  std::vector<JsonProblem> found;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    found.push_back(
        problem_at(path_of(error.context), error.description, schema_, document, pointer));
  }
  // The validator also reports every object around a problem.
  std::stable_sort(found.begin(), found.end(), [](const JsonProblem& a, const JsonProblem& b) {
    return a.pointer.size() > b.pointer.size();
  });
  for (JsonProblem& problem : found) {
    const bool is_explained = std::any_of(
        problems.begin(), problems.end(),
        [&](const JsonProblem& known) { return is_at_or_below(known.pointer, problem.pointer); });
    if (!is_explained) problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace gantry
