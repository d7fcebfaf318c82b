// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/requirements.h"

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
    return resolve_library(manifest, manifest_file_, TrustedWriters::of_process(false));
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
  // A sticky bit keeps the files to their owners, and still lets others put files beside them.
  fs::permissions(folder_.path("d"), fs::perms::sticky_bit, fs::perm_options::add);
  test::expect_error(Code::kUnavailable, {folder_.path("d"), "everybody"},
                     [&] { resolve("lib/libx.so"); });
}

TEST_F(RequirementsTest, NamesEverythingThatIsMissing) {
  Manifest manifest;
  manifest.name = "x";
  manifest.required_libraries = {"libgantry-no-such.so.9", "libc.so.6"};
  manifest.library_hints = {{"libgantry-no-such.so.9", "install the driver"}};
  manifest.required_cpu_features = {"gantry-no-such-feature"};
  Machine machine;
  const std::string library = folder_.path("d/lib/libx.so");
  EXPECT_THAT(missing_cpu_features(manifest),
              testing::ElementsAre("the processor feature gantry-no-such-feature"));
  EXPECT_THAT(missing_libraries(manifest, library, {}, machine),
              testing::ElementsAre("the library libgantry-no-such.so.9 (install the driver)"));
  manifest.required_libraries = {"libc.so.6", "libx.so"};
  EXPECT_THAT(missing_libraries(manifest, library, {}, machine), testing::IsEmpty());
}

TEST_F(RequirementsTest, FindsLinkedLibrariesAsTheLoaderDoes) {
  Manifest manifest;
  Machine machine;
  const std::string library = folder_.path("d/lib/libx.so");
  folder_.write("d/lib/libbeside.so.1", "");
  folder_.write("d/more/libmore.so.1", "");
  DynamicSection needs;
  needs.needed = {"libbeside.so.1", "libmore.so.1", "libc.so.6"};
  EXPECT_THAT(missing_libraries(manifest, library, needs, machine),
              testing::ElementsAre("the library libbeside.so.1", "the library libmore.so.1"))
      << "a library beside it is not found unless its RUNPATH says so";
  needs.runpath = "$ORIGIN:${ORIGIN}/../more";
  EXPECT_THAT(missing_libraries(manifest, library, needs, machine), testing::IsEmpty());
  needs.runpath.clear();
  needs.rpath = "$ORIGIN:$ORIGIN/../more";
  EXPECT_THAT(missing_libraries(manifest, library, needs, machine), testing::IsEmpty());
  needs.runpath = "/nowhere";  // makes the rpath count for nothing
  EXPECT_EQ(missing_libraries(manifest, library, needs, machine).size(), 2U);
  needs.runpath = "/nowhere/$PLATFORM";  // only the loader knows
  EXPECT_THAT(missing_libraries(manifest, library, needs, machine), testing::IsEmpty());
}

TEST_F(RequirementsTest, ComparesDigests) {
  Manifest manifest;
  const LibraryFile library(folder_.path("d/lib/libx.so"));
  check_digest(manifest, "x.json", library);
  manifest.sha256 = std::string(64, '0');
  test::expect_error(Code::kInvalidArgument,
                     {"x.json: /sha256", manifest.sha256, library.path(), library.sha256()},
                     [&] { check_digest(manifest, "x.json", library); });
  manifest.sha256 = library.sha256();
  check_digest(manifest, "x.json", library);
}

}  // namespace
}  // namespace gantry
