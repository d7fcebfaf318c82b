// SPDX-License-Identifier: Apache-2.0
#include "artefact/artefact_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::expect_error;

class ArtefactFolderTest : public testing::Test {
 protected:
  // An artefact of that many bytes that was used so many seconds ago.
  fs::path add(const std::string& name, size_t size_bytes, int64_t age_s) {
    const fs::path file = temp_.write("cache/" + name, std::string(size_bytes, 'x'));
    const timespec now = {time(nullptr) - age_s, 0};
    const timespec times[] = {now, now};
    EXPECT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
    return file;
  }

  test::TempFolder temp_;
  const ArtefactFolder folder_{temp_.path("cache")};
};

TEST_F(ArtefactFolderTest, WhatWasUsedLongestAgoIsThrownOut) {
  const fs::path old = add("old.artefact", 400, 300);
  const fs::path notes = add("old.artefact.digests", 10, 300);
  const fs::path middle = add("middle.artefact", 400, 200);
  const fs::path young = add("young.artefact", 400, 100);
  const fs::path foreign = add("readme.txt", 4000, 900);
  folder_.make_room(1500, 300, {});
  EXPECT_TRUE(fs::exists(old));
  EXPECT_EQ(folder_.list().size(), 3U);
  EXPECT_EQ(folder_.list().front().file, young);
  folder_.make_room(1200, 300, {});
  EXPECT_FALSE(fs::exists(old) || fs::exists(notes));
  EXPECT_TRUE(fs::exists(middle) && fs::exists(young) && fs::exists(foreign));
  ArtefactFolder::touch(middle);
  folder_.make_room(700, 300, {});
  EXPECT_TRUE(fs::exists(middle)) << "it was used last";
  EXPECT_FALSE(fs::exists(young));
}

TEST_F(ArtefactFolderTest, TheOneThatIsReplacedTakesNoRoom) {
  const fs::path old = add("a.artefact", 400, 300);
  const fs::path other = add("b.artefact", 400, 100);
  folder_.make_room(800, 400, old);
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(ArtefactFolderTest, OneThatIsLargerThanTheLimitIsRefused) {
  const fs::path file = add("a.artefact", 400, 300);
  expect_error(Code::kUnavailable, {"it takes 2000 bytes", "session.artefact_cache_limit_bytes"},
               [&] { folder_.make_room(1000, 2000, {}); });
  EXPECT_TRUE(fs::exists(file));
}

TEST_F(ArtefactFolderTest, DraftsOfProcessesThatDiedAreRemoved) {
  const fs::path draft = add("a.artefact.Ab12Cd", 400, 7200);
  const fs::path fresh = add("b.artefact.Ab12Cd", 400, 1);
  folder_.make_room(1000, 0, {});
  EXPECT_FALSE(fs::exists(draft));
  EXPECT_TRUE(fs::exists(fresh)) << "it is being written";
}

TEST_F(ArtefactFolderTest, IsMadeForItsUserAlone) {
  folder_.make();
  folder_.make();
  struct stat status = {};
  ASSERT_EQ(stat(folder_.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  folder_.require_trusted(false);
  fs::permissions(folder_.path(), fs::perms::others_write, fs::perm_options::add);
  expect_error(Code::kUnavailable, {"everybody may; chmod o-w"},
               [&] { folder_.require_trusted(false); });
}

TEST_F(ArtefactFolderTest, ClearingRemovesArtefactsAndNothingElse) {
  add("a.artefact", 400, 1);
  add("b.artefact", 100, 1);
  const fs::path foreign = add("readme.txt", 10, 1);
  EXPECT_EQ(folder_.clear(), 500U);
  EXPECT_TRUE(folder_.list().empty() && fs::exists(foreign));
}

TEST_F(ArtefactFolderTest, NamesAreOfTheModelAndOfWhatTellsItApart) {
  const fs::path file = folder_.file_of("my model/../x", "one");
  EXPECT_EQ(file.parent_path(), folder_.path());
  EXPECT_EQ(file.filename().string().substr(0, 14), "my_model____x-");
  EXPECT_EQ(file.extension(), ".artefact");
  EXPECT_NE(file, folder_.file_of("my model/../x", "two"));
}

}  // namespace
}  // namespace gantry
