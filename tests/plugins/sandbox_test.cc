// SPDX-License-Identifier: Apache-2.0
// What a sandbox closes to a provider in a process of its own, asked from within.
#include <gantry/gantry.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "isolated_runtime.h"
#include "look_around.h"
#include "relu_runs.h"

namespace gantry {
namespace {

using nlohmann::json;
using test::expect_good;
using test::input;
using test::IsolatedRuntime;
using test::kRelu;
using test::numbers_of;

// What a provider finds open, by fakes::Question, and what the system does not permit to close.
struct Openness {
  std::vector<float> found;
  std::string missing;

  [[nodiscard]] bool is_open(fakes::Question question) const { return found[question] == 1; }
};

Openness openness(const json& limits, const json& members = json::object()) {
  setenv("APPLICATIONS_SECRET", "of the application", 1);
  IsolatedRuntime runtime(limits, json::object(), members);
  Session session = runtime.session(kRelu, "FAKE");
  const std::string file = "/tmp/gantry-sandbox-truncate-" + std::to_string(getpid());
  std::ofstream(file) << "as it was";
  Openness open = {numbers_of(session.run(input(-9, fakes::kQuestions))[0]), runtime.warnings()};
  unsetenv("APPLICATIONS_SECRET");
  EXPECT_EQ(std::filesystem::file_size(file), open.is_open(fakes::kShortenFile) ? 0U : 9U);
  std::filesystem::remove(file);
  expect_good(session);
  return open;
}

TEST(Sandbox, ClosesFilesAndTheNetworkAndOtherProcesses) {
  const Openness open = openness(json::object());
  for (uint32_t question = 0; question < fakes::kQuestions; ++question) {
    // A right of root's, which a container may have taken from it.
    if (question == fakes::kOwnLimits) continue;
    EXPECT_EQ(open.found[question], 1) << question;
  }
  const Openness closed = openness({{"sandbox", true}});
  // A system that does not permit a part of it says so, and then that part is open.
  const auto stays = [&](const char* part) {
    return closed.missing.find(part) != std::string::npos;
  };
  const bool files = stays("files stay open");
  const bool calls = stays("other processes stay open");
  for (uint32_t question = 0; question < fakes::kQuestions; ++question) {
    bool expected = calls;
    if (question == fakes::kReadFile || question == fakes::kMakeFile || question == fakes::kDevice)
      expected = files;
    if (question == fakes::kShortenFile) expected = files || stays("shorten files");
    if (question == fakes::kSignal) expected = files && calls;
    if (question == fakes::kOwnLimits || question == fakes::kEnvironment) expected = false;
    if (question == fakes::kOwnThreads) expected = true;
    EXPECT_EQ(closed.found[question], expected ? 1 : 0) << question;
  }
}

TEST(Sandbox, HandsOnTheVariablesThatTheConfigurationNames) {
  const auto has_variable = [](const json& names) {
    return openness({{"sandbox", true}, {"environment", names}}).is_open(fakes::kEnvironment);
  };
  EXPECT_TRUE(has_variable({"OTHER", "APPLICATIONS_*"}));
  EXPECT_FALSE(has_variable({"OTHER", "APPLICATION"}));
}

TEST(Sandbox, LeavesTheDevicesOpenThatTheManifestAsksFor) {
  const auto check = [](const json& files, bool is_named) {
    const Openness open = openness({{"sandbox", true}}, {{"device_files", files}});
    // A system that does not permit to close files says so, and then all are open.
    const bool stay = open.missing.find("files stay open") != std::string::npos;
    EXPECT_EQ(open.is_open(fakes::kReadFile), stay) << "other files than those named";
    EXPECT_EQ(open.is_open(fakes::kDevice), is_named || stay) << files;
  };
  check({"/dev/ful?"}, true);
  check({"/dev/none", "/dev/fu*"}, true);
  check({"/dev/full0", "/dev/random"}, false);
}

}  // namespace
}  // namespace gantry
