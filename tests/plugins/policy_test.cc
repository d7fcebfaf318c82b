// SPDX-License-Identifier: Apache-2.0
// What decides which providers count beside their files: the site policy, the variables,
// strictness.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "provider_folder.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class PolicyTest : public testing::Test {
 protected:
  PolicyTest() : environment_(folder_.environment()) {
    folder_.add("good", "vendor-a");
    folder_.add("good", "vendor-b");
  }
  void policy(const json& content) {
    environment_.policy_file = folder_.write("site/policy", content.dump());
  }
  // State and stage of each row, as "ready" or "rejected policy".
  std::vector<std::string> states(const ProviderSettings& settings = {}) {
    std::vector<std::string> result;
    for (const ProviderReport& row : folder_.registry(environment_, settings)->report(true))
      result.push_back(row.state == row.stage ? row.state : row.state + " " + row.stage);
    return result;
  }

  test::ProviderFolder folder_;
  SearchEnvironment environment_;
};

TEST_F(PolicyTest, SelectAndDisableAreByName) {
  environment_.select = {"vendor-*"};
  environment_.disable = {"*-b"};
  EXPECT_THAT(states(), testing::ElementsAre("ready", "rejected policy")) << "disable wins";
  environment_.select = {"other"};
  const auto rows = folder_.registry(environment_)->report(true);
  EXPECT_THAT(rows[0].message, HasSubstr("GANTRY_PROVIDERS_SELECT"));
  EXPECT_THAT(rows[1].message, HasSubstr("GANTRY_PROVIDERS_DISABLE"));
}

TEST_F(PolicyTest, ThePolicyDenies) {
  policy({{"deny", {{{"name", "*-a"}}}}});
  EXPECT_THAT(states(), testing::ElementsAre("rejected policy", "ready"));
}

TEST_F(PolicyTest, ThePolicyDeniesByDigest) {
  policy({{"deny", {{{"sha256", "*"}}}}});
  EXPECT_THAT(states(), testing::ElementsAre("rejected file checks", "rejected file checks"));
}

TEST_F(PolicyTest, ThePolicyAsksForDigests) {
  policy({{"require_digest", true}});
  EXPECT_THAT(states(), testing::ElementsAre("ready", "ready")) << "bundled ones are its own";
  environment_.site.swap(environment_.bundled);
  EXPECT_THAT(states(), testing::ElementsAre("rejected policy", "rejected policy"));
}

TEST_F(PolicyTest, ThePolicyStandsAboveTheEnvironment) {
  policy({{"allow_env", false}, {"allow_user_dir", false}});
  environment_.provider_files = folder_.path("vendor-a.json");
  environment_.variables = {{"GANTRY_PROVIDER_FILES", *environment_.provider_files, "used", ""}};
  EXPECT_THAT(states(), testing::ElementsAre("ready", "ready")) << "the variable does not count";
  const auto variables = folder_.registry(environment_)->environment();
  EXPECT_EQ(variables[0].state, "ignored");
  EXPECT_THAT(variables[0].reason, HasSubstr("the site policy"));
  environment_.user.swap(environment_.bundled);
  EXPECT_THAT(states(), testing::ElementsAre("rejected policy", "rejected policy"));
  // A configuration that a variable named is no better than the variable.
  environment_.user.clear();
  ProviderSettings settings;
  settings.search = {folder_.path("vendor-a.json")};
  settings.probe = "never";
  EXPECT_THAT(states(settings), testing::ElementsAre("ready"));
  settings.is_search_from_environment = true;
  EXPECT_THAT(states(settings), testing::ElementsAre("rejected policy"));
}

TEST_F(PolicyTest, ThePolicyHoldsForCodeToo) {
  policy({{"deny", {{{"name", "in-code"}}}}});
  const auto registry = folder_.registry(environment_);
  const gantry_provider_entry entry = [](const gantry_offer*, gantry_accept*) -> gantry_error* {
    return nullptr;
  };
  test::expect_error(Code::kUnavailable, {"in-code", "denies"}, [&] {
    registry->add(entry, test::ProviderFolder::manifest("in-code", "").dump());
  });
}

TEST_F(PolicyTest, AWrongPolicyOpensNothing) {
  policy({{"alow", json::array()}});
  test::expect_error(Code::kInvalidArgument, {"site/policy", "/alow", "\"allow\""},
                     [&] { (void)folder_.registry(environment_); });
}

TEST_F(PolicyTest, StrictMakesErrorsOfWarningsAndRejections) {
  json odd = test::ProviderFolder::manifest("vendor-a", "vendor-a.so");
  odd["colour"] = "red";
  odd["x-colour"] = "red";
  folder_.write("vendor-a.json", odd.dump());
  const auto lenient = folder_.registry(environment_)->report(true);
  EXPECT_EQ(lenient[0].state, "ready");
  ASSERT_EQ(lenient[0].warnings.size(), 1U);
  EXPECT_THAT(lenient[0].warnings[0], HasSubstr("/colour: unknown member"));
  environment_.is_strict = true;
  const auto registry = folder_.registry(environment_);
  EXPECT_EQ(registry->report(true)[0].state, "rejected");
  test::expect_error(Code::kInvalidArgument, {"GANTRY_STRICT", "/colour"}, [&] {
    registry->find({"FAKE", 0});
  });
  environment_.disable = {"vendor-a"};  // what is left out on purpose is no reason to stop
  EXPECT_EQ(folder_.registry(environment_)->find({"FAKE", 0}).size(), 1U);
}

TEST_F(PolicyTest, ManifestsFromTheFutureAreNotOpened) {
  json future = test::ProviderFolder::manifest("vendor-a", "vendor-a.so");
  future["manifest_version"] = 2;
  folder_.write("vendor-a.json", future.dump());
  json critical = test::ProviderFolder::manifest("vendor-b", "vendor-b.so");
  critical["sandbox"] = true;
  critical["critical"] = {"sandbox"};
  folder_.write("vendor-b.json", critical.dump());
  const auto rows = folder_.registry(environment_)->report(true);
  EXPECT_EQ(rows[0].code, Code::kAbiMismatch);
  EXPECT_THAT(rows[0].message, HasSubstr("needs another version of gantry"));
  EXPECT_EQ(rows[1].stage, "parsed");
  EXPECT_THAT(rows[1].message, testing::AllOf(HasSubstr("\"sandbox\""), HasSubstr("newer gantry")));
}

TEST_F(PolicyTest, TheReportIsWrittenToAFile) {
  environment_.report_file = folder_.path("report.json");
  environment_.variables = {{"GANTRY_STRICT", "yes", "ignored", "expected 0 or 1"}};
  const auto registry = folder_.registry(environment_);
  const auto state = [&] {
    std::ifstream stream(environment_.report_file);
    const json report = json::parse(stream);
    EXPECT_EQ(report["environment"][0]["reason"], "expected 0 or 1");
    return report["providers"][0]["state"].get<std::string>();
  };
  EXPECT_EQ(state(), "not opened");
  registry->find({"FAKE", 0});
  EXPECT_EQ(state(), "ready");
}

TEST_F(PolicyTest, TheLoaderLogHasLevelsSubjectsAndAFile) {
  const std::string file = folder_.path("loader.log");
  environment_.loader_log = "debug,ready,file=" + file;
  folder_.registry(environment_)->find({"FAKE", 0});
  std::ifstream stream(file);
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  EXPECT_THAT(text, HasSubstr("gantry loader debug [ready]: vendor-a: opened\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("[requirements]")));
  environment_.loader_log = "loud";
  environment_.variables = {{"GANTRY_LOADER_LOG", "loud", "used", ""}};
  const auto variables = folder_.registry(environment_)->environment();
  EXPECT_EQ(variables[0].state, "ignored");
  EXPECT_THAT(variables[0].reason, HasSubstr("\"loud\""));
}

}  // namespace
}  // namespace gantry
