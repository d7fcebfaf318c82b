// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/site_policy.h"

#include <filesystem>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace gantry {
namespace {

class SitePolicyTest : public testing::Test {
 protected:
  SitePolicy policy(const std::string& text) {
    return SitePolicy::read(folder_.write("policy.json", text), false);
  }
  static Manifest provider(const std::string& name, const std::string& vendor) {
    Manifest manifest;
    manifest.name = name;
    manifest.vendor = vendor;
    return manifest;
  }
  static void expect_denied(const SitePolicy& policy, const Manifest& manifest) {
    test::expect_error(Code::kUnavailable, {manifest.name, "policy.json"},
                       [&] { policy.check_manifest(manifest, false); });
  }

  test::TempFolder folder_;
};

TEST_F(SitePolicyTest, WithoutAFileEverythingIsAllowed) {
  const SitePolicy policy = SitePolicy::read(folder_.path("gone.json"), false);
  EXPECT_EQ(policy.file, "");
  policy.check_manifest(provider("x", ""), false);
  policy.check_place({"x.json", "user", "", ManifestFile::Place::kUser});
}

TEST_F(SitePolicyTest, DeniesByNameAndVendor) {
  const SitePolicy policy =
      this->policy(R"({"deny": [{"name": "old-*"}, {"name": "b", "vendor": "Acme*"}]})");
  expect_denied(policy, provider("old-cuda", "x"));
  expect_denied(policy, provider("b", "Acme Ltd"));
  policy.check_manifest(provider("b", "x"), false);
}

TEST_F(SitePolicyTest, AllowsWhatARuleDescribes) {
  const SitePolicy policy = this->policy(
      R"({"allow": [{"vendor": "gantry"}, {"sha256": "AB*"}], "deny": [{"name": "sim"}]})");
  policy.check_manifest(provider("cpu", "gantry"), false);
  expect_denied(policy, provider("sim", "gantry"));
  EXPECT_TRUE(policy.reads_digests());
  policy.check_manifest(provider("other", "x"), false);  // its digest may be the allowed one
  policy.check_library(provider("other", "x"), "ab12");
  test::expect_error(Code::kUnavailable, {"other", "cd34", "does not allow"},
                     [&] { policy.check_library(provider("other", "x"), "cd34"); });
  expect_denied(this->policy(R"({"allow": []})"), provider("cpu", "gantry"));
}

TEST_F(SitePolicyTest, DeniesByDigest) {
  const SitePolicy policy = this->policy(R"({"deny": [{"sha256": "ab12*"}]})");
  policy.check_manifest(provider("x", ""), false);
  policy.check_library(provider("x", ""), "cd34");
  test::expect_error(Code::kUnavailable, {"ab1234", "denies"},
                     [&] { policy.check_library(provider("x", ""), "ab1234"); });
}

TEST_F(SitePolicyTest, AsksForDigests) {
  const SitePolicy policy = this->policy(R"({"require_digest": true})");
  expect_denied(policy, provider("x", ""));
  policy.check_manifest(provider("cpu", ""), true);
  Manifest pinned = provider("x", "");
  pinned.sha256 = std::string(64, 'a');
  policy.check_manifest(pinned, false);
}

TEST_F(SitePolicyTest, ForcesIsolation) {
  const SitePolicy policy = this->policy(R"({"force_isolation": ["vendor-*"]})");
  EXPECT_TRUE(policy.forces_isolation("vendor-x"));
  EXPECT_FALSE(policy.forces_isolation("cpu"));
  policy.check_manifest(provider("vendor-x", ""), false);
}

TEST_F(SitePolicyTest, KnowsPlaces) {
  const SitePolicy policy = this->policy(R"({"allow_env": false, "allow_user_dir": false})");
  using Place = ManifestFile::Place;
  for (const Place place : {Place::kUser, Place::kEnvironment}) {
    test::expect_error(Code::kUnavailable, {"x.json", "does not let manifests come from there"},
                       [&] {
                         policy.check_place({"x.json", "there", "", place});
                       });
  }
  for (const Place place : {Place::kSite, Place::kBundled, Place::kConfiguration})
    policy.check_place({"x.json", "there", "", place});
}

TEST_F(SitePolicyTest, AWrongOneLetsNothingPass) {
  test::expect_error(Code::kInvalidArgument, {"policy.json", "/alow_env", "\"allow_env\""},
                     [&] { policy(R"({"alow_env": false})"); });
  test::expect_error(Code::kInvalidArgument, {"policy.json", "/deny/0/nam"},
                     [&] { policy(R"({"deny": [{"nam": "x"}]})"); });
  test::expect_error(Code::kInvalidArgument, {"policy.json", "/deny/0"},
                     [&] { policy(R"({"deny": [{}]})"); });
  test::expect_error(Code::kInvalidArgument, {"policy.json:1:2: not valid JSON"},
                     [&] { policy("{"); });
  const std::string file = folder_.write("policy.json", "{}");
  std::filesystem::permissions(file, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  test::expect_error(Code::kUnavailable, {"policy.json", "everybody"},
                     [&] { SitePolicy::read(file, false); });
}

}  // namespace
}  // namespace gantry
