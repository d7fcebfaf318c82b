// SPDX-License-Identifier: Apache-2.0
#include "plugin/strict_json.h"

#include "support/expect_error.h"

namespace gantry {
namespace {

using nlohmann::json;

void expect_refused(const std::string& text, const std::vector<std::string>& parts) {
  SCOPED_TRACE(text.substr(0, 60));
  test::expect_error(Code::kInvalidArgument, parts, [&] { parse_json(text, "x.json", {1000, 4}); });
}

TEST(StrictJson, TakesADocument) {
  EXPECT_EQ(parse_json(R"({"a": [1, {"b": null}], "c": "\u00e4"})", "x.json")["a"][0], 1);
  EXPECT_EQ(parse_json("[[[[1]]]]", "x.json", {1000, 4}).size(), 1U);
}

TEST(StrictJson, RefusesWhatIsNotJson) {
  expect_refused("", {"x.json", "line 1, column 1"});
  expect_refused("{\"a\": 1", {"x.json", "not valid JSON"});
  expect_refused("{\"a\":\n  nope}", {"line 2, column 4"});
  expect_refused("{} {}", {"not valid JSON"});
  expect_refused("{\"a\": 1,}", {"not valid JSON"});
  expect_refused("{\"a\": \"\xff\"}", {"UTF-8"});
  expect_refused("// no\n{}", {"not valid JSON"});
  expect_refused("[1e999]", {"x.json"});
}

TEST(StrictJson, RefusesDuplicatesDepthAndSize) {
  expect_refused(R"({"a": {"b": 1, "b": 2}})", {"/a/b", "twice"});
  expect_refused(R"([0, {"a/b": 1, "a/b": 2}])", {"/1/a~1b"});
  expect_refused("[[[[[1]]]]]", {"/0/0/0/0", "at most 4 levels"});
  expect_refused(std::string(100000, '['), {"at most 1000 bytes", "100000"});
}

TEST(StrictJson, DescribesWhatItFound) {
  EXPECT_EQ(describe_json(json("x")), "the string \"x\"");
  EXPECT_EQ(describe_json(json(3)), "the number 3");
  EXPECT_EQ(describe_json(json::array()), "an array");
  EXPECT_EQ(describe_json(json(true)), "true");
  EXPECT_LT(describe_json(json(std::string(1000, 'x'))).size(), 100U);
}

class SchemaTest : public testing::Test {
 protected:
  void expect_refused(const std::string& document, const std::vector<std::string>& parts) const {
    SCOPED_TRACE(document);
    test::expect_error(Code::kInvalidArgument, parts,
                       [&] { schema_.check(json::parse(document), "x.json", "/top"); });
  }

  JsonSchema schema_{json::parse(R"({
      "type": "object", "additionalProperties": false, "required": ["mode"],
      "properties": {
        "mode": {"enum": ["fast", "slow"]},
        "bytes": {"type": "integer", "minimum": 1, "maximum": 9},
        "list": {"type": "array", "items": {"type": "object", "additionalProperties": false,
                                            "properties": {"name": {"type": "string"}}}}
      }})"),
                     "schema.json"};
};

TEST_F(SchemaTest, TakesWhatFits) {
  schema_.check(json::parse(R"({"mode": "fast", "bytes": 9, "list": [{"name": "x"}, {}]})"),
                "x.json");
}

TEST_F(SchemaTest, SaysWhereAndWhat) {
  expect_refused(R"({"mode": "quick"})",
                 {"x.json: /top/mode", "\"fast\" and \"slow\"", "\"quick\""});
  expect_refused(R"({"mode": "fast", "bytes": 10})", {"/top/bytes", "from 1 to 9", "10"});
  expect_refused(R"({"mode": "fast", "bytes": "1"})",
                 {"/top/bytes", "an integer", "the string \"1\""});
  expect_refused(R"({"mode": "fast", "bytse": 1})",
                 {"/top/bytse", "unknown member", "Did you mean \"bytes\"?"});
  expect_refused(R"({"mode": "fast", "list": [{}, {"nam": 1}]})",
                 {"/top/list/1/nam", "Did you mean \"name\"?"});
  expect_refused(R"({"mode": "fast", "list": [{}, {"name": 1}]})",
                 {"/top/list/1/name", "a string", "the number 1"});
  expect_refused("{}", {"/top/mode", "expected this member, found none"});
  expect_refused("[]", {"/top", "an object", "an array"});
}

TEST(JsonSchema, RefusesWhatIsNoSchema) {
  test::expect_error(Code::kInvalidArgument, {"m.json", "/options"},
                     [] { JsonSchema(json::parse(R"({"properties": 3})"), "m.json", "/options"); });
  test::expect_error(Code::kInvalidArgument, {"m.json"}, [] {
    JsonSchema(json::parse(R"({"properties": {"a": {"$ref": "http://nowhere.invalid/x.json"}}})"),
               "m.json");
  });
}

}  // namespace
}  // namespace gantry
