// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/trusted_path.h"

#include <filesystem>
#include <unistd.h>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;

class TrustedPathTest : public testing::Test {
 protected:
  TrustedPathTest() : file_(folder_.write("a/b/x.so", "library")) {}
  void allow(const std::string& relative, fs::perms more) {
    fs::permissions(folder_.path(relative), more, fs::perm_options::add);
  }
  void expect_refused(const std::string& offender, const std::string& why) {
    test::expect_error(Code::kUnavailable, {offender + ":", why},
                       [&] { check_trusted(file_, false); });
  }

  test::TempFolder folder_;
  std::string file_;
};

TEST_F(TrustedPathTest, TakesTheUsersOwnFilesBelowASharedFolder) {
  check_trusted(file_, false);  // the folder for temporary files is everybody's, and sticky
  allow("a", fs::perms::others_write | fs::perms::sticky_bit);
  check_trusted(file_, false);
}

TEST_F(TrustedPathTest, RefusesWhatEverybodyMayWrite) {
  allow("a/b/x.so", fs::perms::others_write);
  expect_refused(file_, "everybody may; chmod o-w");
}

TEST_F(TrustedPathTest, RefusesAnyFolderAboveThatEverybodyMayWrite) {
  allow("a", fs::perms::others_write);
  expect_refused(folder_.path("a"), "everybody may");
}

TEST_F(TrustedPathTest, RefusesAStickyFolderOfTheFileItself) {
  allow("a/b", fs::perms::others_write | fs::perms::sticky_bit);
  expect_refused(folder_.path("a/b"), "everybody may");
}

TEST_F(TrustedPathTest, RefusesWhatAGroupMayWrite) {
  allow("a/b", fs::perms::group_write);
  if (geteuid() != 0 && geteuid() == getegid()) {
    check_trusted(file_, false);  // a user's private group
    test::expect_error(Code::kUnavailable, {folder_.path("a/b")},
                       [&] { check_trusted(file_, true); });
  } else {
    expect_refused(folder_.path("a/b"), "its group may; chmod g-w");
  }
}

TEST_F(TrustedPathTest, RefusesOtherOwners) {
  constexpr uid_t kSomebody = 4711;
  if (geteuid() != 0) {
    test::expect_error(Code::kUnavailable, {"expected the owner root"},
                       [&] { check_trusted(file_, true); });
    GTEST_SKIP() << "only root can give files away";
  }
  ASSERT_EQ(chown(folder_.path("a").c_str(), kSomebody, kSomebody), 0);
  expect_refused(folder_.path("a"), "expected the owner root, found user 4711");
  ASSERT_EQ(chown(folder_.path("a").c_str(), 0, 0), 0);
  ASSERT_EQ(chown(file_.c_str(), kSomebody, kSomebody), 0);
  expect_refused(file_, "found user 4711");
}

}  // namespace
}  // namespace gantry
