// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/digest.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace gantry
