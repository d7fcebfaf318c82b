// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/strict_json.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <unistd.h>

#include "support/expect_error.h"

namespace gantry {
namespace {

using nlohmann::json;

uint64_t resident_bytes() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void expect_refused(const std::string& text, const std::vector<std::string>& parts) {
  SCOPED_TRACE(text.substr(0, 60));
  test::expect_error(Code::kInvalidArgument, parts, [&] { parse_json(text, "x.json", {1000, 4}); });
}

TEST(StrictJson, TakesADocument) {
  EXPECT_EQ(parse_json(R"({"a": [1, {"b": null}], "c": "\u00e4"})", "x.json").root["a"][0], 1);
  EXPECT_EQ(parse_json("[[[[1]]]]", "x.json", {1000, 4}).root.size(), 1U);
}

TEST(StrictJson, RefusesWhatIsNotJson) {
  expect_refused("", {"x.json:1:1: not valid JSON"});
  expect_refused("{\"a\": 1",
                 {"x.json:1:8: not valid JSON", "something that was opened is not closed"});
  expect_refused("{\"a\": 1\n\n\n", {"x.json:1:8: "});
  expect_refused("{\"a\":\n  nope}", {"x.json:2:3: ", "invalid literal"});
  expect_refused("{} {}", {"x.json:1:4: not valid JSON"});
  expect_refused("{\"a\": 1,}", {"x.json:1:9: ", "the comma before it is one too many"});
  expect_refused("[1, ]", {"x.json:1:5: ", "the comma before it is one too many"});
  expect_refused("{\"a\": \"\xff\"}", {"x.json:1:8: ", "UTF-8"});
  expect_refused("// no\n{}", {"x.json:1:1: ", "JSON has no comments"});
  expect_refused("{\"a\": 1, // no\n}", {"x.json:1:10: ", "JSON has no comments"});
  expect_refused("{'a': 1}", {"x.json:1:2: ", "double quotes"});
  expect_refused("{\"a\": 1\n \"b\": 2}", {"x.json:2:2: ", "a comma or colon is missing"});
  expect_refused("{\"a\" \"b\"}", {"x.json:1:6: ", "a comma or colon is missing"});
  expect_refused("{\"a\": True}", {"x.json:1:7: ", "true, false and null"});
  expect_refused("{\"a\": [SIM:0]}", {"x.json:1:8: ", "names and texts stand in double quotes"});
  expect_refused("{a: 1}", {"x.json:1:2: ", "names and texts stand in double quotes"});
  expect_refused("\xff\xfe{", {"x.json:1:1: ", "expected UTF-8, found UTF-16"});
  expect_refused("{\"a\": \"b,\n \"c\": 1}", {"x.json:1:10: ", "a closing quote is missing"});
  expect_refused("{,}", {"x.json:1:2: "});
  expect_refused("{\"\xC3\xA4\": 1, \"b\" 2}", {"x.json:1:14: "});  // columns are characters
  expect_refused("[1e999]", {"x.json:1:2: "});
}

TEST(StrictJson, RefusesDuplicatesDepthAndSize) {
  expect_refused("{\"a\": {\"b\": 1,\n \"b\": 2}}", {"x.json:2:2: /a/b: ", "twice", "line 1"});
  expect_refused(R"([0, {"a/b": 1, "a/b": 2}])", {"/1/a~1b"});
  expect_refused("[[[[[1]]]]]", {"x.json:1:5: /0/0/0/0: ", "at most 4 levels"});
  expect_refused(std::string(100000, '['), {"at most 1000 bytes", "100000"});
}

TEST(StrictJson, KnowsEveryPlace) {
  const JsonPositions positions =
      parse_json(
          "{\n  \"a\": [1,2 , {\"b\":-3}],\n\t\"\xC3\xA4\" :\n null, \"e\": {}, \"f\": \"x\"}\n",
          "x.json")
          .positions;
  const auto at = [&](const std::string& pointer) {
    const JsonMemberPosition& position = positions.find(pointer)->position;
    return std::vector<uint32_t>{position.name.line, position.name.column, position.value.line,
                                 position.value.column};
  };
  EXPECT_EQ(positions.size(), 9U);
  EXPECT_EQ(at(""), (std::vector<uint32_t>{1, 1, 1, 1}));
  EXPECT_EQ(at("/a"), (std::vector<uint32_t>{2, 3, 2, 8}));
  EXPECT_EQ(at("/a/0"), (std::vector<uint32_t>{2, 9, 2, 9}));
  EXPECT_EQ(at("/a/1"), (std::vector<uint32_t>{2, 11, 2, 11}));
  EXPECT_EQ(at("/a/2"), (std::vector<uint32_t>{2, 15, 2, 15}));
  EXPECT_EQ(at("/a/2/b"), (std::vector<uint32_t>{2, 16, 2, 20}));
  EXPECT_EQ(at("/\xC3\xA4"), (std::vector<uint32_t>{3, 2, 4, 2}));
  EXPECT_EQ(at("/e"), (std::vector<uint32_t>{4, 8, 4, 13}));
  EXPECT_EQ(at("/f"), (std::vector<uint32_t>{4, 17, 4, 22}));
  EXPECT_EQ(position_of(positions, "/a/2/none/x").value.column, 15U);
}

// Memory is a multiple of the text, whatever its names are: each member is kept by the number of
// what is around it.
TEST(StrictJson, TakesMemoryByTheTextAndNotByItsNames) {
  std::string text = "{\"" + std::string(1000, 'a') + "\": [0";
  for (int i = 0; i < 250000; ++i) text += ",0";
  text += "]}";
  const uint64_t before = resident_bytes();
  const JsonDocument document = parse_json(text, "x.json");
  EXPECT_EQ(document.positions.size(), 250003U);
  EXPECT_LT(resident_bytes() - before, 100 * text.size());
  test::expect_error(
      Code::kInvalidArgument, {"x.json:1:8: /a: ", "names of at most 256 bytes", "one of 300"}, [] {
        parse_json("{\"a\": {\"" + std::string(300, 'b') + "\": 1}}", "x.json", {1000, 4, 256});
      });
}

TEST(StrictJson, ShowsTheLine) {
  EXPECT_EQ(excerpt("{\n\t\"a\": nope}\n", {2, 7}), "\n    \t\"a\": nope}\n    \t     ^");
  EXPECT_EQ(excerpt("{", {1, 2}), "\n    {\n     ^");
  EXPECT_EQ(excerpt("", {1, 1}), "\n    \n    ^");
  EXPECT_EQ(excerpt("\xC3\xA4\xFF\x80x", {1, 2}), "\n    \xC3\xA4?x\n     ^");
  EXPECT_LT(excerpt(std::string(100000, ' '), {1, 5000}).size(), 300U);
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
  [[nodiscard]] std::vector<JsonProblem> problems_of(const std::string& document) const {
    return schema_.problems(json::parse(document), "/top");
  }
  void expect_refused(const std::string& document, const std::string& pointer,
                      const std::vector<std::string>& parts,
                      const std::string& suggestion = "") const {
    SCOPED_TRACE(document);
    const std::vector<JsonProblem> problems = problems_of(document);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].pointer, pointer);
    EXPECT_EQ(problems[0].suggestion, suggestion);
    for (const std::string& part : parts) EXPECT_THAT(problems[0].what, testing::HasSubstr(part));
    if (!suggestion.empty()) {
      EXPECT_THAT(problems[0].what, testing::EndsWith(". Did you mean " + suggestion + "?"));
    }
  }

  JsonSchema schema_{json::parse(R"({
      "type": "object", "additionalProperties": false, "required": ["mode"],
      "properties": {
        "mode": {"enum": ["fast", "slow"]},
        "bytes": {"type": "integer", "minimum": 1, "maximum": 9},
        "names": {"type": "array", "items": {"type": "string"}},
        "modes": {"type": "array", "items": {"enum": ["fast", "slow"]}},
        "turn": {"type": ["integer", "string"], "minimum": 1},
        "list": {"type": "array", "items": {"type": "object", "additionalProperties": false,
                                            "properties": {"name": {"type": "string"}}}}
      }})"),
                     "schema.json"};
};

TEST_F(SchemaTest, TakesWhatFits) {
  EXPECT_TRUE(problems_of(R"({"mode": "fast", "bytes": 9, "list": [{"name": "x"}, {}]})").empty());
}

TEST_F(SchemaTest, SaysWhereAndWhat) {
  expect_refused(R"({"mode": "quick"})", "/top/mode", {"\"fast\" and \"slow\"", "\"quick\""});
  expect_refused(R"({"mode": "slwo"})", "/top/mode", {"\"slwo\""}, "\"slow\"");
  expect_refused(R"({"mode": "fast", "bytes": 10})", "/top/bytes", {"from 1 to 9", "10"});
  expect_refused(R"({"mode": "fast", "bytes": "1"})", "/top/bytes",
                 {"an integer", "the string \"1\""}, "1");
  expect_refused(R"({"mode": "fast", "names": "x"})", "/top/names", {"an array"}, "[\"x\"]");
  expect_refused(R"({"mode": "fast", "names": "x, y"})", "/top/names", {"an array"},
                 R"(["x","y"])");
  expect_refused(R"({"mode": "fast", "modes": "slow"})", "/top/modes", {"an array"}, R"(["slow"])");
  expect_refused(R"({"mode": "fast", "modes": "slwo"})", "/top/modes", {"an array"});
  expect_refused(R"({"mode": "fast", "list": {"name": "x"}})", "/top/list", {"an array"},
                 R"([{"name":"x"}])");
  expect_refused(R"({"mode": "fast", "bytes": 2.0})", "/top/bytes", {"an integer", "2.0"}, "2");
  expect_refused(R"({"mode": "fast", "turn": 0})", "/top/turn",
                 {"an integer of at least 1 or a string, found the number 0"});
  expect_refused(R"({"mode": "fast", "bytse": 1})", "/top/bytse", {"unknown member"}, "\"bytes\"");
  expect_refused(R"({"mode": "fast", "list": [{}, {"nam": 1}]})", "/top/list/1/nam", {},
                 "\"name\"");
  expect_refused(R"({"mode": "fast", "list": [{}, {"name": 1}]})", "/top/list/1/name",
                 {"a string", "the number 1"});
  expect_refused(R"({"mode": "fast", "list": [{"bytes": 1}]})", "/top/list/0/bytes",
                 {"\"bytes\" is a member of /"});
  expect_refused("{}", "/top/mode", {"expected this member, found none"});
  expect_refused(R"({"mod": "fast"})", "/top/mod", {"unknown member"}, "\"mode\"");
  expect_refused("[]", "/top", {"an object", "an array"});
}

TEST_F(SchemaTest, SaysAllThatIsWrong) {
  std::vector<std::string> pointers;
  for (const JsonProblem& problem :
       problems_of(R"({"bytes": 0, "list": [{"name": 1}, {"x": 1, "name": 2}], "y": 1})"))
    pointers.push_back(problem.pointer);
  EXPECT_THAT(pointers,
              testing::UnorderedElementsAre("/top/mode", "/top/bytes", "/top/list/0/name",
                                            "/top/list/1/x", "/top/list/1/name", "/top/y"));
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
