// SPDX-License-Identifier: Apache-2.0
#ifndef VALIJSON_USE_EXCEPTIONS
#define VALIJSON_USE_EXCEPTIONS 1  // without, a schema that is none would end the process
#endif
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "base/names.h"
#include "plugin/strict_json.h"

namespace gantry {
namespace {

using nlohmann::json;
using valijson::adapters::NlohmannJsonAdapter;

// The part of the schema that speaks of a member, as far as it says so plainly; null if it does
// not.
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

// "an integer from 0 to 9", from the keywords that plain schemas use; empty if there are none.
std::string expectation(const json& schema) {
  if (schema.contains("enum")) return "one of " + list_values(schema["enum"]);
  if (schema.contains("const")) return schema["const"].dump();
  if (!schema.contains("type")) return {};
  if (!schema["type"].is_string()) return "one of the types " + list_values(schema["type"]);
  const std::string type = schema["type"];
  std::string text =
      (type == "array" || type == "integer" || type == "object" ? "an " : "a ") + type;
  const auto add = [&](const char* keyword, const char* words) {
    if (schema.contains(keyword)) text += words + schema[keyword].dump();
  };
  const bool has_both = schema.contains("minimum") && schema.contains("maximum");
  add("minimum", has_both ? " from " : " of at least ");
  add("maximum", has_both ? " to " : " of at most ");
  add("exclusiveMinimum", " greater than ");
  add("exclusiveMaximum", " less than ");
  add("pattern", " that matches ");
  add("minLength", " of a length of at least ");
  add("maxLength", " of a length of at most ");
  add("minItems", " of a length of at least ");
  return text;
}

// The first member that `required` names and the object lacks; empty if there is none.
std::string missing_member(const json& schema, const json& value) {
  if (!value.is_object() || !schema.contains("required") || !schema["required"].is_array())
    return {};
  for (const json& member : schema["required"]) {
    if (member.is_string() && !value.contains(member.get_ref<const std::string&>())) return member;
  }
  return {};
}

// The first member that a closed object does not know. Said before everything else: a misspelt name
// explains most other breaches.
void check_members(const json& schema, const json& document, const std::string& subject,
                   const std::string& pointer) {
  if (document.is_array()) {
    const json* items = schema_of_item(schema);
    for (size_t i = 0; items && i < document.size(); ++i) {
      check_members(*items, document[i], subject, json_pointer(pointer, std::to_string(i)));
    }
  }
  if (!document.is_object() || !schema.is_object()) return;
  for (const auto& [member, value] : document.items()) {
    const std::string here = json_pointer(pointer, member);
    if (const json* known = schema_of_member(schema, member)) {
      check_members(*known, value, subject, here);
    } else if (is_closed(schema)) {
      std::vector<std::string> names;
      if (schema.contains("properties")) {
        for (const auto& [name, unused] : schema["properties"].items()) names.push_back(name);
      }
      throw Error(Code::kInvalidArgument,
                  subject + ": " + here + ": unknown member; expected " +
                      (names.empty() ? "no members" : "one of " + list_names(names)) + "." +
                      did_you_mean(member, names));
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

[[noreturn]] void fail_at(const std::vector<std::string>& path, const std::string& description,
                          const json& root_schema, const json& document, const std::string& subject,
                          std::string pointer) {
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
  if (is_plain && value) {
    const std::string missing = missing_member(*schema, *value);
    if (!missing.empty()) {
      throw Error(Code::kInvalidArgument, subject + ": " + json_pointer(pointer, missing) +
                                              ": expected this member, found none");
    }
  }
  const std::string expected = is_plain ? expectation(*schema) : std::string();
  std::string message = subject + ": " + (pointer.empty() ? "/" : pointer) + ": ";
  message += expected.empty() ? description : "expected " + expected;
  if (value) message += (expected.empty() ? " Found " : ", found ") + describe_json(*value);
  throw Error(Code::kInvalidArgument, message);
}

}  // namespace

struct JsonSchema::Compiled {
  valijson::Schema schema;
};

JsonSchema::JsonSchema(json schema, const std::string& subject, const std::string& pointer)
    : schema_(std::move(schema)), compiled_(std::make_unique<Compiled>()) {
  try {
    valijson::SchemaParser parser;
    parser.populateSchema(NlohmannJsonAdapter(schema_), compiled_->schema);
  } catch (const std::exception& error) {
    throw Error(
        Code::kInvalidArgument,
        subject + ": " + pointer +
            ": expected a JSON Schema, found one that the validator refuses: " + error.what());
  }
}

JsonSchema::~JsonSchema() = default;

void JsonSchema::check(const json& document, const std::string& subject,
                       const std::string& pointer) const {
  check_members(schema_, document, subject, pointer);
  valijson::Validator validator;
  valijson::ValidationResults results;
  bool is_valid = false;
  try {
    is_valid = validator.validate(compiled_->schema, NlohmannJsonAdapter(document), &results);
  } catch (const std::exception& error) {
    throw Error(Code::kInvalidArgument,
                subject + ": " + pointer + ": could not be checked: " + error.what());
  }
  if (is_valid) return;
  valijson::ValidationResults::Error found;
  valijson::ValidationResults::Error deepest;
  while (results.popError(found)) {
    if (found.context.size() > deepest.context.size()) deepest = found;
  }
  fail_at(path_of(deepest.context), deepest.description, schema_, document, subject, pointer);
}

}  // namespace gantry
