// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/plain_schema.h"

#include <gantry/config.h>

#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

#include "plugin/discovery/strict_json.h"

namespace gantry {
namespace {

using nlohmann::json;

// What the validator says: a schema that is not plain is always compiled.
bool validator_takes(const json& schema, const json& document) {
  json compiled = schema;
  compiled["not"] = {{"enum", {"a value that no document here is"}}};
  EXPECT_FALSE(is_plain_schema(compiled));
  return JsonSchema(compiled, "test").problems(document).empty();
}

const json kValues[] = {
    json(),
    true,
    false,
    0,
    1,
    -1,
    7,
    8,
    2.0,
    2.5,
    -0.5,
    1e300,
    "",
    "a",
    "on",
    "\u00e4",
    "four bytes",
    "16",
    json::array(),
    json::array({1}),
    json::array({"a", ""}),
    json::array({"a", "b"}),
    json::object(),
    {{"x", 1}},
    {{"x", "1"}},
    {{"y", 1}},
    {{"x", 1}, {"y", {1}}},
    9007199254740993,
    UINT64_MAX,
};

const char* const kSchemas[] = {
    R"({})",
    R"({"type": "integer"})",
    R"({"type": "number", "minimum": -0.5, "maximum": 7})",
    R"({"type": "integer", "minimum": 1})",
    R"({"minimum": 1})",
    R"({"type": "boolean", "description": "d", "title": "t", "default": 3})",
    R"({"type": "null"})",
    R"({"type": "string"})",
    R"({"type": "string", "minLength": 1})",
    R"({"type": "string", "minLength": 2})",
    R"({"enum": ["on", 1, null, 2.5]})",
    R"({"type": "array"})",
    R"({"type": "array", "items": {"type": "string", "minLength": 1}})",
    R"({"items": {"type": "integer"}})",
    R"({"type": "object"})",
    R"({"type": "object", "additionalProperties": false})",
    R"({"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": false})",
    R"({"type": "object", "properties": {"x": {"type": "integer"}}})",
    R"({"properties": {"x": {}}, "required": ["x"]})",
    R"({"type": "object", "properties": {"x": {}}, "additionalProperties": {"type": "array"}})",
};

TEST(PlainSchema, SaysYesOnlyWhereTheValidatorDoes) {
  size_t fitting = 0;
  size_t taken = 0;
  for (const char* text : kSchemas) {
    const json schema = json::parse(text);
    ASSERT_TRUE(is_plain_schema(schema)) << text;
    for (const json& value : kValues) {
      const bool fits = fits_plainly(schema, value);
      const bool is_taken = validator_takes(schema, value);
      EXPECT_LE(fits, is_taken) << text << " " << value;
      fitting += fits ? 1 : 0;
      taken += is_taken ? 1 : 0;
    }
  }
  // Most of what is right is seen at once: that is what it is for.
  EXPECT_GT(fitting * 10, taken * 9) << fitting << " of " << taken;
}

TEST(PlainSchema, TakesSchemasThatTheValidatorTakesAndNoOthers) {
  for (const char* text : kSchemas) EXPECT_NO_THROW(validator_takes(json::parse(text), 1)) << text;
  for (const char* text :
       {R"(1)", R"(true)", R"({"type": "int"})", R"({"type": 1})",
        R"({"type": ["string", "null"]})", R"({"minimum": "1"})", R"({"enum": []})",
        R"({"enum": "a"})", R"({"required": [1]})", R"({"required": "x"})",
        R"({"properties": {"x": 1}})", R"({"properties": []})", R"({"items": [{}]})",
        R"({"pattern": "a"})", R"({"anyOf": [{}]})", R"({"$ref": "#"})", R"({"minLength": -1})",
        R"({"additionalProperties": {"type": "x"}})", R"({"format": "uri"})"})
    EXPECT_FALSE(is_plain_schema(json::parse(text))) << text;
}

TEST(PlainSchema, TheConfigurationsIsOne) {
  const json schema = json::parse(config_schema());
  EXPECT_TRUE(is_plain_schema(schema));
  EXPECT_TRUE(fits_plainly(schema, json::parse(R"({"session": {"threads": 2}})")));
  EXPECT_FALSE(fits_plainly(schema, json::parse(R"({"session": {"thread": 2}})")));
  EXPECT_FALSE(fits_plainly(schema, json::parse(R"({"session": {"threads": "2"}})")));
}

}  // namespace
}  // namespace gantry
