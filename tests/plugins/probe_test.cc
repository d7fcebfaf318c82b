// SPDX-License-Identifier: Apache-2.0
// Providers that end or stop the process they are opened in: tried in a child, they leave a row.
#include <chrono>
#include <filesystem>

#include "provider_folder.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

class ProbeTest : public testing::Test {
 protected:
  ProbeTest() {
    environment_ = folder_.environment();
    environment_.site.swap(environment_.bundled);  // bundled ones are not tried
    environment_.probe_helper = SearchEnvironment::of_process().probe_helper;
    environment_.cache_folder = folder_.path("cache");
  }
  ProviderReport open(const ProviderSettings& settings = {}) {
    const auto rows = folder_.registry(environment_, settings)->report(true);
    EXPECT_EQ(rows.size(), 1U);
    return rows[0];
  }
  [[nodiscard]] size_t verdicts() const {
    std::error_code none;
    const fs::directory_iterator files(folder_.path("cache/probes"), none);
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  test::ProviderFolder folder_;
  SearchEnvironment environment_;
};

TEST_F(ProbeTest, AGoodOneIsTriedOnceAndOpened) {
  folder_.add("good", "x");
  EXPECT_EQ(open().state, "ready");
  EXPECT_EQ(open().probe, "passed");
  EXPECT_EQ(verdicts(), 1U);
  environment_.probe_helper = "/no/such/helper";  // not asked for again
  EXPECT_EQ(open().state, "ready");
}

TEST_F(ProbeTest, ACrashEndsTheChild) {
  folder_.add("crash_init", "x");
  const ProviderReport row = open();
  EXPECT_EQ(row.state, "rejected");
  EXPECT_EQ(row.stage, "probe");
  EXPECT_EQ(row.probe, "crashed");
  EXPECT_EQ(row.code, Code::kProviderCrashed);
  EXPECT_THAT(row.message,
              testing::AllOf(HasSubstr("\"x\""), HasSubstr("signal 6"), HasSubstr("stage load"),
                             HasSubstr("the fake driver gives up | while it starts")));
  EXPECT_FALSE(row.hint.empty());
}

TEST_F(ProbeTest, ACrashIsRememberedUntilSomethingChanges) {
  folder_.add("crash_entry", "x");
  EXPECT_THAT(open().message, HasSubstr("stage negotiate"));
  EXPECT_EQ(verdicts(), 1U);
  environment_.probe_helper = "/no/such/helper";
  const ProviderReport row = open();
  EXPECT_EQ(row.probe, "crashed") << row.message;
  EXPECT_THAT(row.message, HasSubstr(folder_.path("cache/probes/")));
  environment_.probe_helper = SearchEnvironment::of_process().probe_helper;
  fs::remove(folder_.path("x.so"));
  folder_.copy("good.so", "x.so");
  EXPECT_EQ(open().state, "ready") << "another library is another question";
}

TEST_F(ProbeTest, ACrashWhileDevicesAreEnumeratedNamesThatStage) {
  folder_.add("crash_devices", "x");
  const ProviderReport row = open();
  EXPECT_EQ(row.probe, "crashed");
  EXPECT_THAT(row.message, HasSubstr("stage enumerate"));
}

TEST_F(ProbeTest, ACrashAtTheEndOfTheProcessCounts) {
  folder_.add("crash_exit", "x");
  const ProviderReport row = open();
  EXPECT_EQ(row.probe, "crashed");
  EXPECT_THAT(row.message, HasSubstr("after its last call"));
}

TEST_F(ProbeTest, AHangIsEnded) {
  folder_.add("hang_init", "x", json{{"probe", {{"mode", "auto"}, {"timeout_ms", 300}}}});
  const auto start = std::chrono::steady_clock::now();
  const ProviderReport row = open();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  EXPECT_EQ(row.probe, "timed out");
  EXPECT_EQ(row.code, Code::kDeadlineExceeded);
  EXPECT_THAT(row.message, testing::AllOf(HasSubstr("within 300 ms"), HasSubstr("stage load")));
  EXPECT_EQ(verdicts(), 1U);
}

TEST_F(ProbeTest, ARefusalIsNotRemembered) {
  folder_.add("returns_error", "x");
  const ProviderReport row = open();
  EXPECT_EQ(row.probe, "refused");
  EXPECT_EQ(row.code, Code::kUnavailable);
  EXPECT_THAT(row.message, HasSubstr("the fake driver is too old"));
  EXPECT_EQ(verdicts(), 0U) << "the driver may be mended at any time";
}

TEST_F(ProbeTest, WithoutItsHelperNothingIsOpened) {
  folder_.add("crash_init", "x");  // would end this process
  environment_.probe_helper = folder_.path("gantry-probe");
  const ProviderReport row = open();
  EXPECT_EQ(row.state, "rejected");
  EXPECT_EQ(row.stage, "probe");
  EXPECT_EQ(row.code, Code::kUnavailable);
  EXPECT_THAT(row.message, testing::AllOf(HasSubstr(folder_.path("gantry-probe")),
                                          HasSubstr("not opened untried")));
  EXPECT_THAT(row.hint, HasSubstr("gantry-probe"));
}

TEST_F(ProbeTest, ManifestAndConfigurationDecide) {
  folder_.add("good", "x", json{{"probe", {{"mode", "never"}}}});
  EXPECT_EQ(open().probe, "");
  ProviderSettings settings;
  settings.probe = "always";
  EXPECT_EQ(open(settings).probe, "passed");
  json eager = test::ProviderFolder::manifest("x", "x.so");
  eager["probe"] = {{"mode", "always"}};
  folder_.write("x.json", eager.dump());
  environment_.bundled.swap(environment_.site);
  EXPECT_EQ(open().probe, "passed");
  settings.probe = "never";
  EXPECT_EQ(open(settings).probe, "");
  settings.probe = "auto";
  EXPECT_EQ(open(settings).probe, "") << "bundled ones were tried when they were built";
}

}  // namespace
}  // namespace gantry
