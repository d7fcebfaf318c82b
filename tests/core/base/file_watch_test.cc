// SPDX-License-Identifier: Apache-2.0
#include "base/file_watch.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/mapped_file.h"
#include "expect_error.h"
#include "temp_folder.h"

namespace gantry {
namespace {

constexpr size_t kPages = 8;

class FileWatchTest : public testing::Test {
 protected:
  FileWatchTest()
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        path_(folder_.write("m", std::string(kPages * page_, 'a'))),
        file_(MappedFile::open(path_)) {
    file_->watch()->settle();
  }
  [[nodiscard]] char at(size_t page) const {
    return static_cast<char>(
        *static_cast<const volatile std::byte*>(file_->bytes().data() + page * page_));
  }
  void write(size_t offset, char letter) {
    std::fstream stream(path_, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(offset)).put(letter);
  }
  void expect_changed(const std::string& what) {
    test::expect_error(Code::kInvalidModel, {path_, what, "while a session uses it", "renaming"},
                       [&] { file_->watch()->require_unchanged(); });
  }

  test::TempFolder folder_;
  const size_t page_;
  const std::string path_;
  const std::shared_ptr<const MappedFile> file_;
};

TEST_F(FileWatchTest, TellsThatAFileWasWritten) {
  file_->watch()->require_unchanged();
  write(page_, 'b');
  expect_changed("was written");
}

TEST_F(FileWatchTest, TakesAnotherFileOfTheNameForNoChange) {
  std::filesystem::rename(folder_.write("n", "other"), path_);
  file_->watch()->require_unchanged();
  EXPECT_EQ(at(kPages - 1), 'a');
}

TEST_F(FileWatchTest, KeepsOwnPages) {
  ASSERT_TRUE(own_pages(file_->bytes().subspan(page_ + 10, page_)));
  write(0, 'b');
  write(page_, 'b');
  EXPECT_EQ(at(0), 'b');
  EXPECT_EQ(at(1), 'a');
  std::filesystem::resize_file(path_, 1);
  EXPECT_EQ(at(1), 'a');
}

TEST_F(FileWatchTest, ReadsZerosWhereTheFileEnds) {
  ASSERT_TRUE(own_pages(file_->bytes().first(page_)));
  std::filesystem::resize_file(path_, 2 * page_);
  EXPECT_EQ(at(5), '\0');
  EXPECT_EQ(at(7), '\0');
  EXPECT_EQ(at(0), 'a');
  EXPECT_EQ(at(1), 'a');
  expect_changed("became shorter");
}

using FileWatchDeathTest = FileWatchTest;

TEST_F(FileWatchDeathTest, LeavesOtherBusErrorsToTheSystem) {
  EXPECT_EXIT(std::raise(SIGBUS), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace gantry
