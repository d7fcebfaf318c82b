// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/digest.h"

#include <gantry/error.h>

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/discovery/digest_library.h"
#include "plugin/discovery/machine.h"

namespace gantry {
namespace {

// The examples of FIPS 180-4.
TEST(Sha256, ComputesTheStandardsExamples) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 digest;
  for (int i = 0; i < 1000; ++i) digest.add(std::string(1000, 'a'));
  EXPECT_EQ(digest.hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, ItsLibraryIsOpenedWithTheFirstDigestOnly) {
  // In a process that is started anew: here somebody may have asked for a digest before.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const bool was_open = !loaded_library("libgantry_digest.so").empty();
        static_cast<void>(sha256_of(""));
        const bool is_open = !loaded_library("libgantry_digest.so").empty();
        std::_Exit(!was_open && is_open ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Sha256, SaysWhichLibraryIsMissing) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  try {
    open_digest_library(folder);
    FAIL() << "opened a library that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_THAT(error.message(), testing::AllOf(testing::HasSubstr(folder + "/libgantry_digest.so"),
                                                testing::HasSubstr("install gantry again")));
  }
}

}  // namespace
}  // namespace gantry
