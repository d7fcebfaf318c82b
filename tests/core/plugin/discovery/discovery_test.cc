// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_folder.h"

namespace gantry {
namespace {

std::vector<std::string> names_of(const std::vector<ManifestFile>& files,
                                  const test::TempFolder& folder) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const ManifestFile& file : files)
    names.push_back(file.path.substr(folder.path().size() + 1) + (file.problem.empty() ? "" : "!"));
  return names;
}

class DiscoveryTest : public testing::Test {
 protected:
  DiscoveryTest() {
    for (const char* file : {"user/b.json", "user/a.json", "user/notes.txt", "site/a.json",
                             "bundled/cpu.json", "env/e.json", "more/m.json"}) {
      folder_.write(file, "{}");
    }
    environment_.user = {folder_.path("user"), folder_.path("no-such-folder")};
    environment_.site = {folder_.path("site")};
    environment_.bundled = {folder_.path("bundled")};
  }
  [[nodiscard]] std::vector<std::string> find(
      const std::vector<std::string>& configured = {}) const {
    return names_of(find_manifests(configured, environment_), folder_);
  }

  test::TempFolder folder_;
  SearchEnvironment environment_;
};

TEST_F(DiscoveryTest, UserThenSiteThenBundledSortedByName) {
  EXPECT_THAT(find(), testing::ElementsAre("user/a.json", "user/b.json", "site/a.json",
                                           "bundled/cpu.json"));
}

TEST_F(DiscoveryTest, AddedFilesComeFirst) {
  environment_.add_provider_files = folder_.path("more/m.json") + "::" + folder_.path("env");
  EXPECT_THAT(find(), testing::ElementsAre("more/m.json", "env/e.json", "user/a.json",
                                           "user/b.json", "site/a.json", "bundled/cpu.json"));
}

TEST_F(DiscoveryTest, ProviderFilesReplaceWhatFollows) {
  environment_.provider_files = folder_.path("env/e.json");
  environment_.add_provider_files = folder_.path("more");
  EXPECT_THAT(find({folder_.path("site")}), testing::ElementsAre("site/a.json", "env/e.json"));
  environment_.provider_files = "";
  EXPECT_THAT(find(), testing::IsEmpty());
}

TEST_F(DiscoveryTest, NamedPlacesThatAreMissingAreReported) {
  environment_.provider_files = folder_.path("gone.json");
  const std::vector<ManifestFile> files = find_manifests({folder_.path("gone")}, environment_);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_THAT(files[0].problem, testing::HasSubstr("configuration"));
  EXPECT_THAT(files[1].problem, testing::HasSubstr("GANTRY_PROVIDER_FILES"));
}

TEST_F(DiscoveryTest, FoldersThatAreThereAndCannotBeReadAreReported) {
  environment_.user = {folder_.path("user/notes.txt"), folder_.path("no-such-folder")};
  environment_.site = {folder_.path("user/notes.txt/providers.d")};
  EXPECT_THAT(find(), testing::ElementsAre("user/notes.txt!", "user/notes.txt/providers.d!",
                                           "bundled/cpu.json"));
  EXPECT_THAT(find_manifests({}, environment_)[0].problem, testing::HasSubstr("cannot be read"));
}

class EnvironmentTest : public testing::Test {
 protected:
  void set(const char* name, const char* value) {
    value ? setenv(name, value, 1) : unsetenv(name);
    names_.push_back(name);
  }
  ~EnvironmentTest() override {
    for (const char* name : names_) unsetenv(name);
  }
  std::vector<const char*> names_;
};

TEST_F(EnvironmentTest, FollowsXdgAndTheLibrary) {
  set("XDG_CONFIG_HOME", "/u/config");
  set("XDG_DATA_HOME", "relative/is/ignored");
  set("XDG_DATA_DIRS", "/s/one:/s/two");
  set("GANTRY_PROVIDER_FILES", "/x.json");
  const SearchEnvironment environment = SearchEnvironment::of_process();
  EXPECT_EQ(environment.provider_files, "/x.json");
  EXPECT_THAT(environment.user, testing::Contains("/u/config/gantry/providers.d"));
  EXPECT_THAT(environment.user, testing::Not(testing::Contains(testing::HasSubstr("relative"))));
  EXPECT_THAT(environment.site,
              testing::ElementsAre("/etc/gantry/providers.d", "/s/one/gantry/providers.d",
                                   "/s/two/gantry/providers.d"));
  ASSERT_EQ(environment.bundled.size(), 1U);
  EXPECT_THAT(environment.bundled[0], testing::EndsWith("/gantry/providers.d"));
}

TEST_F(EnvironmentTest, EmptyIsUnsetAndBlanksAreTrimmed) {
  for (const char* name : {"GANTRY_PROVIDER_FILES", "GANTRY_ADD_PROVIDER_FILES",
                           "GANTRY_PROVIDERS_SELECT", "GANTRY_ISOLATION"})
    set(name, " ");
  set("GANTRY_PROVIDERS_DISABLE", " sim ,, cuda\n");
  SearchEnvironment environment = SearchEnvironment::of_process();
  EXPECT_FALSE(environment.provider_files || environment.add_provider_files || environment.select);
  EXPECT_THAT(environment.disable, testing::ElementsAre("sim", "cuda"));
  EXPECT_THAT(environment.slips, testing::IsEmpty());
  set("GANTRY_PROVIDERS_SELECT", "cpu, x86");
  environment = SearchEnvironment::of_process();
  EXPECT_THAT(*environment.select, testing::ElementsAre("cpu", "x86"));
}

}  // namespace
}  // namespace gantry
