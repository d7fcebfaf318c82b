// SPDX-License-Identifier: Apache-2.0
#include "artefact/model_digest.h"

#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

#include "artefact/content_sum.h"
#include "support/temp_folder.h"

namespace gantry {
namespace {

TEST(ContentSum, EveryByteCounts) {
  std::string text(3'000'001, 'a');
  const auto digest = [&] {
    return content_digest({reinterpret_cast<const std::byte*>(text.data()), text.size()}, 2, false);
  };
  const std::string first = digest();
  EXPECT_EQ(first.size(), 32U);
  for (const size_t place : {size_t{0}, kSumChunk - 1, kSumChunk, text.size() - 1}) {
    text[place] = 'b';
    EXPECT_NE(digest(), first) << place;
    text[place] = 'a';
  }
  EXPECT_EQ(digest(), first);
  text += '\0';
  EXPECT_NE(digest(), first);
}

class ModelDigestsTest : public testing::Test {
 protected:
  ModelDigestsTest()
      : model_(folder_.write("model", "content one")), notes_(folder_.path("notes")) {}
  // As a start does it.
  std::string digest() {
    ModelDigests digests(notes_);
    const std::string found = digests.of({MappedFile::open(model_)}, 2);
    digests.save();
    return found;
  }
  [[nodiscard]] bool are_noted() const { return std::filesystem::exists(notes_); }
  // Puts a wrong digest into the notes: who believes them shows it.
  void spoil_notes() {
    std::ifstream in(notes_);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    const size_t value = text.find("\": \"") + 4;
    text.replace(value, 32, std::string(32, '0'));
    std::ofstream(notes_) << text;
  }

  test::TempFolder folder_;
  std::string model_;
  std::string notes_;
};

TEST_F(ModelDigestsTest, AFileThatWasWrittenJustNowIsReadEachTime) {
  const std::string first = digest();
  EXPECT_FALSE(are_noted()) << "its times cannot tell yet whether it changes";
  std::ofstream(model_) << "content two";
  EXPECT_NE(digest(), first);
}

TEST_F(ModelDigestsTest, OneThatHasNotChangedIsNotReadAgain) {
  std::this_thread::sleep_for(std::chrono::milliseconds(3100));
  const std::string first = digest();
  ASSERT_TRUE(are_noted());
  EXPECT_EQ(digest(), first);
  spoil_notes();
  EXPECT_EQ(digest(), std::string(32, '0'));
  // Of the same length and with the same time of writing: the time of the change tells it.
  struct stat before = {};
  ASSERT_EQ(stat(model_.c_str(), &before), 0);
  std::ofstream(model_) << "content two";
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, model_.c_str(), times, 0), 0);
  const std::string second = digest();
  EXPECT_NE(second, first);
  EXPECT_NE(second, std::string(32, '0'));
}

TEST_F(ModelDigestsTest, NotesThatAreNoneAreNotBelieved) {
  const std::string first = digest();
  std::ofstream(notes_) << "{\"no";
  EXPECT_EQ(digest(), first);
  std::ofstream(notes_) << "[1, 2]";
  EXPECT_EQ(digest(), first);
}

}  // namespace
}  // namespace gantry
