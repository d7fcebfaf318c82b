// SPDX-License-Identifier: Apache-2.0
#include "session/config/config.h"

#include <algorithm>
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
  EXPECT_EQ(config.placement.prefer, std::vector<std::string>{"CPU"});
  EXPECT_EQ(config.origins.text_of("/placement/prefer"), "default");
}

TEST(Config, ReadsEveryMember) {
  const Config config = parse(R"({
    "providers": {"search": ["/opt/vendor/providers.d"], "disable": ["cuda"], "options": {"sim": {"latency_us": 1}}},
    "placement": {"prefer": ["CUDA:0", "CPU"], "fallback": "warn",
                  "rules": [{"op_type": "NonMaxSuppression", "device": "CPU"}, {"name": "decoder/*", "domain": "", "device": "CUDA:1"}]},
    "session": {"threads": 2, "optimization": "basic", "precision": "f32", "disable_passes": ["dropout"]}})");
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
  EXPECT_EQ(config.session.disable_passes, std::vector<std::string>{"dropout"});
}

TEST(Config, LaterDocumentsWin) {
  const Config config = Config::parse(
      {{"GANTRY_CONFIG",
        "{\"session\": {\"threads\": 1, \"optimization\": \"none\"},\n"
        " \"placement\": {\"prefer\": [\"A\", \"B\"]},\n"
        " \"providers\": {\"options\": {\"sim\": {\"latency_us\": 1, \"memory_bytes\": 4096}}}}",
        "/etc/site.json"},
       {"runtime", ""},
       {"runtime", R"({"session": {"optimization": "basic", "threads": 2}})", "app.json"},
       {"session",
        R"({"session": {"threads": 4}, "placement": {"prefer": ["C"]},
            "providers": {"options": {"sim": {"latency_us": 2}}}})"}});
  EXPECT_EQ(config.session.threads, 4);
  EXPECT_EQ(config.session.optimization, Optimization::kBasic);
  EXPECT_EQ(config.placement.prefer, std::vector<std::string>{"C"});
  EXPECT_EQ(config.providers.options.at("sim"), R"({"latency_us":2,"memory_bytes":4096})");
  EXPECT_EQ(config.origins.text_of("/session/threads"), "configuration (session)");
  EXPECT_EQ(config.origins.text_of("/session/optimization"), "app.json:1:30");
  EXPECT_EQ(config.origins.text_of("/providers/options/sim/memory_bytes"),
            "GANTRY_CONFIG /etc/site.json:3:69");
  EXPECT_EQ(config.origins.text_of("/providers/options/sim/latency_us"), "configuration (session)");
  EXPECT_EQ(config.origins.text_of("/placement/prefer/0"), "configuration (session)");
  EXPECT_EQ(config.origins.text_of("/placement/prefer/1"), "default");  // replaced as a whole
  EXPECT_EQ(config.origins.text_of("/placement/fallback"), "default");
}

TEST(Config, SaysAllThatIsWrongByLine) {
  const std::string text = R"({
  "sesion": {"threads": 2},
  "placement": {"prefer": ["CPU", "CUDA:x"], "fallback": "alow"},
  "session": {
    "threads": 0,
    "precision": "f8",
    "disable_passes": ["dead_cod"]
  }
})";
  const std::string lines[] = {
      "c.json:2:3: /sesion: unknown member; ",
      "c.json:3:35: /placement/prefer/1: device \"CUDA:x\": found the id \"x\"; ",
      "c.json:3:58: /placement/fallback: expected one of \"error\", \"warn\" and \"allow\"",
      "c.json:5:16: /session/threads: expected an integer from 1 to 1024, found the number 0\n",
      "c.json:6:18: /session/precision: expected one of \"f32\", \"tf32\", \"bf16\" and \"f16\"",
      "c.json:7:24: /session/disable_passes/0: there is no pass \"dead_cod\"; ",
  };
  const std::string suggestions[] = {"\"session\"", "\"CUDA\"", "\"allow\"", "\"dead_code\""};
  try {
    Config::parse({{"runtime", text, "c.json"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    const std::string& message = error.message();
    size_t start = 0;
    for (const std::string& line : lines) {
      EXPECT_EQ(message.substr(start, line.size()), line);
      start = message.find('\n', start) + 1;
    }
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 5);
    for (const std::string& suggestion : suggestions)
      EXPECT_THAT(message, testing::HasSubstr(". Did you mean " + suggestion + "?"));
  }
}

TEST(Config, ShowsWhatIsNoJson) {
  test::expect_error(
      Code::kInvalidArgument,
      {"c.json:2:14: not valid JSON: ", "\n      \"threads\": two\n", "\n                 ^"}, [] {
        Config::parse({{"runtime", "{\"session\": {\n  \"threads\": two\n}}", "c.json"}});
      });
}

struct Wrong {
  const char* text;
  Code code;
  std::vector<std::string> parts;
};

TEST(Config, RefusesWhatIsWrong) {
  const Wrong cases[] = {
      {"{", Code::kInvalidArgument, {":1:2: not valid JSON"}},
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
      {R"({"providers": {"isolation": {"x": "thread"}}})",
       Code::kInvalidArgument,
       {"/providers/isolation/x", "\"process\""}},
      {R"({"providers": {"worker": {"x": {"run_timeout": 5}}}})",
       Code::kInvalidArgument,
       {"/providers/worker/x/run_timeout", "\"run_timeout_ms\""}},
  };
  for (const Wrong& wrong : cases) {
    SCOPED_TRACE(wrong.text);
    std::vector<std::string> parts = wrong.parts;
    parts.emplace_back("configuration (runtime)");
    test::expect_error(wrong.code, parts, [&] { parse(wrong.text); });
  }
}

TEST(Config, AFileWithoutItsTextIsNoEmptyConfiguration) {
  test::expect_error(Code::kInvalidArgument, {"c.json", "empty text", "read_config()"}, [] {
    Config::parse({{"runtime", "", "c.json"}});
  });
}

TEST(Config, AWrongChoiceIsOneProblem) {
  try {
    parse(R"({"session": {"precision": "fp16"}})");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
  }
}

TEST(Config, ReadsTheFileOfTheEnvironment) {
  const test::TempFolder folder;
  unsetenv("GANTRY_CONFIG");
  EXPECT_EQ(Config::of_environment().text, "");
  const std::string file = folder.write("c.json", R"({"session": {"threads": 3}})");
  setenv("GANTRY_CONFIG", file.c_str(), 1);
  EXPECT_EQ(Config::parse({Config::of_environment()}).session.threads, 3);
  test::expect_error(Code::kInvalidArgument, {"GANTRY_CONFIG " + file + ":1:14: /session/thread: "},
                     [&] {
                       folder.write("c.json", R"({"session": {"thread": 3}})");
                       Config::parse({Config::of_environment()});
                     });
  setenv("GANTRY_CONFIG", folder.path("gone.json").c_str(), 1);
  test::expect_error(Code::kNotFound, {"GANTRY_CONFIG", "gone.json"},
                     [] { Config::of_environment(); });
  unsetenv("GANTRY_CONFIG");
}

TEST(Config, IgnoresTheEnvironmentWithRaisedPrivileges) {
  const test::TempFolder folder;
  setenv("GANTRY_CONFIG", folder.write("c.json", R"({"session": {"threads": 3}})").c_str(), 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(Config::of_environment(true).text, "");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("GANTRY_CONFIG is ignored"));
  EXPECT_NE(Config::of_environment(false).text, "");
  unsetenv("GANTRY_CONFIG");
}

TEST(Config, SchemaIsInTheLibrary) {
  EXPECT_THAT(config_schema(), testing::HasSubstr("\"gantry configuration\""));
}

}  // namespace
}  // namespace gantry
