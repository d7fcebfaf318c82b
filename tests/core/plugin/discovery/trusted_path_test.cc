// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/trusted_path.h"

#include <filesystem>
#include <unistd.h>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kSomebody = 4711;

class TrustedPathTest : public testing::Test {
 protected:
  TrustedPathTest() : file_(folder_.write("a/b/x.so", "library")) {}
  void allow(const std::string& relative, fs::perms more) {
    fs::permissions(folder_.path(relative), more, fs::perm_options::add);
  }
  void give(const std::string& relative, uid_t user, gid_t group) {
    ASSERT_EQ(chown(folder_.path(relative).c_str(), user, group), 0);
  }
  void expect_refused(const std::string& offender, const std::vector<std::string>& said,
                      const TrustedWriters& writers) {
    std::vector<std::string> all = {offender + ":"};
    all.insert(all.end(), said.begin(), said.end());
    test::expect_error(Code::kUnavailable, all, [&] { check_trusted(file_, writers); });
  }
  void expect_refused(const std::string& offender, const std::vector<std::string>& said) {
    expect_refused(offender, said, own_);
  }

  test::TempFolder folder_;
  std::string file_;
  const TrustedWriters own_ = TrustedWriters::of_process(false);
  const TrustedWriters root_ = TrustedWriters::of_process(true);
};

TEST_F(TrustedPathTest, TakesTheUsersOwnFilesBelowASharedFolder) {
  check_trusted(file_, own_);  // the folder for temporary files is everybody's, and sticky
  allow("a", fs::perms::others_write | fs::perms::sticky_bit);
  check_trusted(file_, own_);
}

TEST_F(TrustedPathTest, RefusesWhatEverybodyMayWrite) {
  allow("a/b/x.so", fs::perms::others_write);
  expect_refused(file_, {"everybody may; chmod o-w"});
}

TEST_F(TrustedPathTest, RefusesAnyFolderAboveThatEverybodyMayWrite) {
  allow("a", fs::perms::others_write);
  expect_refused(folder_.path("a"), {"everybody may"});
}

TEST_F(TrustedPathTest, RefusesAStickyFolderOfTheFileItself) {
  allow("a/b", fs::perms::others_write | fs::perms::sticky_bit);
  expect_refused(folder_.path("a/b"), {"everybody may"});
}

// As in an image whose files were made writable for the group of its processes.
TEST_F(TrustedPathTest, TakesWhatAGroupOfTheProcessMayWrite) {
  for (const char* path : {"a", "a/b", "a/b/x.so"}) allow(path, fs::perms::group_write);
  check_trusted(file_, own_);
  expect_refused(file_, {geteuid() == 0 ? "chmod g-w" : "expected the owner root"}, root_);
}

TEST_F(TrustedPathTest, RefusesWhatAnotherGroupMayWriteUnlessItIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  allow("a/b", fs::perms::group_write);
  give("a/b", 0, kSomebody);
  expect_refused(folder_.path("a/b"),
                 {"group 4711 may; chmod g-w", R"("group:4711" in "providers": {"trust"})"});
  check_trusted(file_, TrustedWriters::of_process(false, {"group:4711"}));
}

TEST_F(TrustedPathTest, RefusesOtherOwnersUnlessTheyAreNamed) {
  if (geteuid() != 0) {
    expect_refused(file_, {"expected the owner root"}, root_);
    GTEST_SKIP() << "only root can give files away";
  }
  give("a", kSomebody, kSomebody);
  expect_refused(folder_.path("a"),
                 {"expected the owner root, found user 4711", R"("user:4711" in)"});
  check_trusted(file_, TrustedWriters::of_process(false, {"user:4711"}));
  give("a", 0, 0);
  give("a/b/x.so", kSomebody, kSomebody);
  expect_refused(file_, {"found user 4711"});
}

// Whoever can replace gantry's library runs in this process already.
TEST_F(TrustedPathTest, TakesWhatWritersOfTheLibraryMayWrite) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  TrustedWriters writers = own_;
  writers.users.insert(kSomebody);
  writers.groups.insert(kSomebody + 1);
  give("a/b", kSomebody, kSomebody + 1);
  allow("a/b", fs::perms::group_write);
  check_trusted(file_, writers);
  writers.is_everybody = true;
  allow("a/b/x.so", fs::perms::others_write);
  check_trusted(file_, writers);
}

TEST_F(TrustedPathTest, NamesUsersAndGroups) {
  const TrustedWriters writers = TrustedWriters::of_process(false, {"user:daemon", "group:4712"});
  EXPECT_TRUE(writers.users.contains(1) && writers.groups.contains(4712));
  EXPECT_FALSE(TrustedWriters::of_process(true, {"group:4712"}).groups.contains(4712));
  for (const char* wrong : {"daemon", "users:daemon", ":", "user:"})
    EXPECT_EQ(fault_of_trust(wrong), TrustFault::kForm) << wrong;
  const std::string unknown = "user:nobody of this name";
  EXPECT_EQ(fault_of_trust(unknown), TrustFault::kUnknown);
  EXPECT_EQ(TrustedWriters::of_process(false, {unknown, "daemon"}).users,
            TrustedWriters::of_process(false).users);
}

}  // namespace
}  // namespace gantry
