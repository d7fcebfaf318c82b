// SPDX-License-Identifier: Apache-2.0
#include "plugin/requirements.h"

#include <filesystem>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;

class RequirementsTest : public testing::Test {
 protected:
  RequirementsTest() : manifest_file_(folder_.write("d/x.json", "{}")) {
    folder_.write("d/lib/libx.so", "library");
  }
  std::string resolve(const std::string& library) {
    Manifest manifest;
    manifest.name = "x";
    manifest.library = library;
    return resolve_library(manifest, manifest_file_);
  }

  test::TempFolder folder_;
  std::string manifest_file_;
};

TEST_F(RequirementsTest, ResolvesBelowTheManifest) {
  EXPECT_EQ(resolve("lib/libx.so"), folder_.path("d/lib/libx.so"));
  fs::create_symlink("libx.so", folder_.path("d/lib/libx.so.1"));
  EXPECT_EQ(resolve("lib/libx.so.1"), folder_.path("d/lib/libx.so"));
}

TEST_F(RequirementsTest, FollowsALinkedManifest) {
  fs::create_directory(folder_.path("providers.d"));
  fs::create_symlink(manifest_file_, folder_.path("providers.d/x.json"));
  manifest_file_ = folder_.path("providers.d/x.json");
  EXPECT_EQ(resolve("lib/libx.so"), folder_.path("d/lib/libx.so"));
}

TEST_F(RequirementsTest, RefusesToLeaveTheFolder) {
  folder_.write("outside.so", "library");
  fs::create_symlink(folder_.path("outside.so"), folder_.path("d/link.so"));
  test::expect_error(Code::kInvalidArgument, {"/library", "below the manifest's folder"},
                     [&] { resolve("../outside.so"); });
  test::expect_error(Code::kInvalidArgument, {"below the manifest's folder"},
                     [&] { resolve(folder_.path("d/lib/libx.so")); });
  test::expect_error(Code::kInvalidArgument, {"links to", "outside.so"},
                     [&] { resolve("link.so"); });
}

TEST_F(RequirementsTest, SaysWhereItLooked) {
  test::expect_error(Code::kNotFound, {"x.json: /library", folder_.path("d/gone.so")},
                     [&] { resolve("gone.so"); });
  test::expect_error(Code::kInvalidArgument, {"not a file"}, [&] { resolve("lib"); });
}

TEST_F(RequirementsTest, RefusesWhatEverybodyMayWrite) {
  const std::string library = folder_.path("d/lib/libx.so");
  fs::permissions(library, fs::perms::others_write, fs::perm_options::add);
  test::expect_error(Code::kUnavailable, {library, "everybody", "chmod o-w"},
                     [&] { resolve("lib/libx.so"); });
  fs::permissions(library, fs::perms::others_write, fs::perm_options::remove);
  fs::permissions(folder_.path("d"), fs::perms::others_write, fs::perm_options::add);
  test::expect_error(Code::kUnavailable, {folder_.path("d"), "everybody"},
                     [&] { resolve("lib/libx.so"); });
  fs::permissions(folder_.path("d"), fs::perms::sticky_bit, fs::perm_options::add);
  EXPECT_EQ(resolve("lib/libx.so"), library);
}

TEST_F(RequirementsTest, NamesEverythingThatIsMissing) {
  Manifest manifest;
  manifest.name = "x";
  manifest.required_libraries = {"libgantry-no-such.so.9", "libc.so.6"};
  manifest.required_cpu_features = {"gantry-no-such-feature"};
  test::expect_error(Code::kUnavailable,
                     {"\"x\"", "the processor feature gantry-no-such-feature",
                      "the library libgantry-no-such.so.9"},
                     [&] { check_requirements(manifest, folder_.path("d/lib/libx.so")); });
  manifest.required_libraries = {"libc.so.6", "libx.so"};
  manifest.required_cpu_features.clear();
  check_requirements(manifest, folder_.path("d/lib/libx.so"));
}

}  // namespace
}  // namespace gantry
