// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/plain_schema.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {
namespace {

using nlohmann::json;

bool is_type_name(const json& type) {
  constexpr std::string_view kTypes[] = {"array",  "boolean", "integer", "null",
                                         "number", "object",  "string"};
  return type.is_string() && std::find(std::begin(kTypes), std::end(kTypes),
                                       type.get_ref<const std::string&>()) != std::end(kTypes);
}

bool is_plain_object(const json& parts) {
  return parts.is_object() && std::all_of(parts.begin(), parts.end(), is_plain_schema);
}

// True of a keyword that fits_plainly() handles, or that is an annotation.
bool is_plain_keyword(const std::string& keyword, const json& value) {
  if (keyword == "type") return is_type_name(value);
  if (keyword == "properties") return is_plain_object(value);
  if (keyword == "items") return is_plain_schema(value);
  if (keyword == "additionalProperties") return value.is_boolean() || is_plain_schema(value);
  if (keyword == "enum") return value.is_array() && !value.empty();
  if (keyword == "required") {
    return value.is_array() && !value.empty() &&
           std::all_of(value.begin(), value.end(),
                       [](const json& name) { return name.is_string(); });
  }
  if (keyword == "minimum" || keyword == "maximum") return value.is_number();
  if (keyword == "minLength") return value.is_number_unsigned();
  if (keyword == "description" || keyword == "title") return value.is_string();
  return keyword == "default" || (keyword == "$schema" && value.is_string());
}

bool has_type(const json& value, const std::string& type) {
  if (type == "array") return value.is_array();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  if (type == "object") return value.is_object();
  return value.is_string();
}

// True if the number is within the schema's bounds and all of them are below 2^53 in magnitude,
// where comparing as doubles is exact for integers.
bool fits_bounds(const json& schema, const json& document) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const auto minimum = schema.find("minimum");
  const auto maximum = schema.find("maximum");
  if (minimum == schema.end() && maximum == schema.end()) return true;
  if (!document.is_number()) return true;
  const auto number = document.get<double>();
  const double low = minimum == schema.end() ? number : minimum->get<double>();
  const double high = maximum == schema.end() ? number : maximum->get<double>();
  const auto is_exact = [](double each) { return std::abs(each) < kExact; };
  return is_exact(number) && is_exact(low) && is_exact(high) && low <= number && number <= high;
}

// True if the string's length is surely within the bounds: counts bytes, one to four a character.
bool fits_length(const json& schema, const json& document) {
  const auto least = schema.find("minLength");
  if (least == schema.end() || !document.is_string()) return true;
  return document.get_ref<const std::string&>().size() / 4 >= least->get<uint64_t>() ||
         (*least == 1 && !document.get_ref<const std::string&>().empty());
}

bool fits_members(const json& schema, const json& document) {
  const auto properties = schema.find("properties");
  const auto others = schema.find("additionalProperties");
  const auto required = schema.find("required");
  if (required != schema.end()) {
    for (const json& name : *required)
      if (!document.contains(name.get_ref<const std::string&>())) return false;
  }
  for (const auto& [name, value] : document.items()) {
    if (properties != schema.end() && properties->contains(name)) {
      if (!fits_plainly(properties->at(name), value)) return false;
    } else if (others != schema.end()) {
      if (others->is_boolean() ? !others->get<bool>() : !fits_plainly(*others, value)) return false;
    }
  }
  return true;
}

}  // namespace

bool is_plain_schema(const json& schema) {
  if (!schema.is_object()) return false;
  for (const auto& [keyword, value] : schema.items())
    if (!is_plain_keyword(keyword, value)) return false;
  return true;
}

bool fits_plainly(const json& schema, const json& document) {
  const auto type = schema.find("type");
  if (type != schema.end() && !has_type(document, type->get_ref<const std::string&>()))
    return false;
  const auto choices = schema.find("enum");
  if (choices != schema.end() && std::none_of(choices->begin(), choices->end(), [&](const json& c) {
        return c.type() == document.type() && c == document;
      }))
    return false;
  if (!fits_bounds(schema, document) || !fits_length(schema, document)) return false;
  if (document.is_object()) return fits_members(schema, document);
  const auto items = schema.find("items");
  return !document.is_array() || items == schema.end() ||
         std::all_of(document.begin(), document.end(),
                     [&](const json& item) { return fits_plainly(*items, item); });
}

}  // namespace gantry
