// SPDX-License-Identifier: Apache-2.0
#include "session/config.h"

#include <cstdlib>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace gantry {
namespace {

Config parse(const std::string& text) { return Config::parse({{"runtime", text}}); }

TEST(Config, DefaultsWithoutDocument) {
  const Config config = Config::parse({});
  EXPECT_EQ(config.placement.fallback, Fallback::kError);
  EXPECT_EQ(config.session.optimization, Optimization::kAll);
  EXPECT_EQ(config.session.threads, 0);
  EXPECT_TRUE(config.providers.search.empty());
  EXPECT_TRUE(config.origins.empty());
}

TEST(Config, ReadsEveryMember) {
  const Config config = parse(R"({
    "providers": {"search": ["/opt/vendor/providers.d"], "disable": ["cuda"], "options": {"sim": {"latency_us": 1}}},
    "placement": {"prefer": ["CUDA:0", "CPU"], "fallback": "warn",
                  "rules": [{"op_type": "NonMaxSuppression", "device": "CPU"}, {"name": "decoder/*", "domain": "", "device": "CUDA:1"}]},
    "session": {"threads": 2, "optimization": "basic", "precision": "f32", "disable_passes": ["fold"]}})");
  EXPECT_EQ(config.providers.search, std::vector<std::string>{"/opt/vendor/providers.d"});
  EXPECT_EQ(config.providers.disable, std::vector<std::string>{"cuda"});
  EXPECT_EQ(config.providers.options.at("sim"), R"({"latency_us":1})");
  EXPECT_EQ(config.placement.prefer, (std::vector<std::string>{"CUDA:0", "CPU"}));
  EXPECT_EQ(config.placement.fallback, Fallback::kWarn);
  ASSERT_EQ(config.placement.rules.size(), 2U);
  EXPECT_TRUE(config.placement.rules[0].matches("NonMaxSuppression", "any", "x"));
  EXPECT_FALSE(config.placement.rules[0].matches("Relu", "", "x"));
  EXPECT_TRUE(config.placement.rules[1].matches("Relu", "", "decoder/x"));
  EXPECT_FALSE(config.placement.rules[1].matches("Relu", "vendor", "decoder/x"));
  EXPECT_FALSE(config.placement.rules[1].matches("Relu", "", "encoder/x"));
  EXPECT_EQ(config.session.threads, 2);
  EXPECT_EQ(config.session.optimization, Optimization::kBasic);
  EXPECT_EQ(config.session.disable_passes, std::vector<std::string>{"fold"});
}

TEST(Config, LaterDocumentsWin) {
  const Config config = Config::parse(
      {{"GANTRY_CONFIG",
        R"({"session": {"threads": 1, "optimization": "none"}, "placement": {"prefer": ["A", "B"]}})"},
       {"runtime", ""},
       {"session", R"({"session": {"threads": 4}, "placement": {"prefer": ["C"]}})"}});
  EXPECT_EQ(config.session.threads, 4);
  EXPECT_EQ(config.session.optimization, Optimization::kNone);
  EXPECT_EQ(config.placement.prefer, std::vector<std::string>{"C"});
  EXPECT_EQ(config.origins.at("/session/threads"), "session");
  EXPECT_EQ(config.origins.at("/session/optimization"), "GANTRY_CONFIG");
}

struct Wrong {
  const char* text;
  Code code;
  std::vector<std::string> parts;
};

TEST(Config, RefusesWhatIsWrong) {
  const Wrong cases[] = {
      {"{", Code::kInvalidArgument, {"line 1"}},
      {"[]", Code::kInvalidArgument, {"an object", "an array"}},
      {"null", Code::kInvalidArgument, {"an object", "null"}},
      {R"({"sesion": {}})", Code::kInvalidArgument, {"/sesion", "Did you mean \"session\"?"}},
      {R"({"session": {"thread": 1}})",
       Code::kInvalidArgument,
       {"/session/thread", "Did you mean \"threads\"?"}},
      {R"({"session": {"threads": 0}})",
       Code::kInvalidArgument,
       {"/session/threads", "from 1 to 1024", "0"}},
      {R"({"session": {"threads": 1.5}})",
       Code::kInvalidArgument,
       {"/session/threads", "an integer"}},
      {R"({"session": {"threads": 1, "threads": 2}})",
       Code::kInvalidArgument,
       {"/session/threads", "twice"}},
      {R"({"session": null})", Code::kInvalidArgument, {"/session", "null"}},
      {R"({"session": {"optimization": "max"}})",
       Code::kInvalidArgument,
       {"/session/optimization", "\"all\"", "\"max\""}},
      {R"({"placement": {"prefer": ["CPU", "CUDA:x"]}})",
       Code::kInvalidArgument,
       {"/placement/prefer/1", "CUDA:x"}},
      {R"({"placement": {"rules": [{"op_type": "A"}]}})",
       Code::kInvalidArgument,
       {"/placement/rules/0/device", "found none"}},
      {R"({"placement": {"rules": [{"device": "CPU:"}]}})",
       Code::kInvalidArgument,
       {"/placement/rules/0/device", "CPU:"}},
      {R"({"placement": {"rules": [{"device": "CPU", "optype": "A"}]}})",
       Code::kInvalidArgument,
       {"/placement/rules/0/optype", "\"op_type\""}},
      {R"({"providers": {"options": {"cuda": 1}}})",
       Code::kInvalidArgument,
       {"/providers/options/cuda", "an object"}},
      {R"({"providers": {"isolation": {"x": "process"}}})",
       Code::kUnsupported,
       {"/providers/isolation"}},
      {R"({"session": {"profile": "t.json"}})", Code::kUnsupported, {"/session/profile"}},
      {R"({"session": {"precision": "bf16"}})", Code::kUnsupported, {"/session/precision", "f32"}},
  };
  for (const Wrong& wrong : cases) {
    SCOPED_TRACE(wrong.text);
    std::vector<std::string> parts = wrong.parts;
    parts.push_back("configuration (runtime)");
    test::expect_error(wrong.code, parts, [&] { parse(wrong.text); });
  }
}

TEST(Config, ReadsTheFileOfTheEnvironment) {
  const test::TempFolder folder;
  unsetenv("GANTRY_CONFIG");
  EXPECT_EQ(Config::of_environment().text, "");
  const std::string file = folder.write("c.json", R"({"session": {"threads": 3}})");
  setenv("GANTRY_CONFIG", file.c_str(), 1);
  EXPECT_EQ(Config::parse({Config::of_environment()}).session.threads, 3);
  setenv("GANTRY_CONFIG", folder.path("gone.json").c_str(), 1);
  test::expect_error(Code::kNotFound, {"GANTRY_CONFIG", "gone.json"},
                     [] { Config::of_environment(); });
  unsetenv("GANTRY_CONFIG");
}

TEST(Config, SchemaIsInTheLibrary) {
  EXPECT_THAT(config_schema(), testing::HasSubstr("\"gantry configuration\""));
}

}  // namespace
}  // namespace gantry
