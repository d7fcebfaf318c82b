// SPDX-License-Identifier: Apache-2.0
#include "base/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_folder.h"

namespace gantry {
namespace {

TEST(ListFolder, GivesTheEntriesAndNoOthers) {
  const test::TempFolder folder;
  folder.write("a.json", "");
  folder.write(".hidden", "");
  folder.write("inner/b", "");
  std::error_code error = std::make_error_code(std::errc::io_error);
  EXPECT_THAT(list_folder(folder.path(), error),
              testing::UnorderedElementsAre(folder.path("a.json"), folder.path(".hidden"),
                                            folder.path("inner")));
  EXPECT_FALSE(error);
}

TEST(ListFolder, SaysWhyAFolderCannotBeRead) {
  const test::TempFolder folder;
  std::error_code error;
  EXPECT_TRUE(list_folder(folder.path("absent"), error).empty());
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
  EXPECT_TRUE(list_folder(folder.write("file", ""), error).empty());
  EXPECT_EQ(error, std::errc::not_a_directory);
}

}  // namespace
}  // namespace gantry
