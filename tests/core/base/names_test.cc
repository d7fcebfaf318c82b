// SPDX-License-Identifier: Apache-2.0
#include "base/names.h"

#include <gtest/gtest.h>

namespace gantry {
namespace {

TEST(Names, NearestIsAFewLettersAway) {
  const std::vector<std::string> names = {"providers", "placement", "session", "latency_us"};
  EXPECT_EQ(nearest_name("provders", names), "providers");
  EXPECT_EQ(nearest_name("Session", names), "session");
  EXPECT_EQ(nearest_name("latency", names), "latency_us");
  EXPECT_EQ(nearest_name("smi", {"cpu", "sim"}), "sim");  // two letters swapped are one slip
  EXPECT_EQ(nearest_name("xim", {"cpu", "sim"}), "sim");
  EXPECT_EQ(nearest_name("ism_", {"cpu", "sim"}), "sim");
  EXPECT_EQ(nearest_name("ims", {"cpu", "sim"}), "");
  EXPECT_EQ(nearest_name("xyz", names), "");
  EXPECT_EQ(nearest_name("q", {"x", "y"}), "");
  EXPECT_EQ(nearest_name("X", {"y", "x"}), "x");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'a'), names), "");
  EXPECT_EQ(did_you_mean("placment", names), " Did you mean \"placement\"?");
  EXPECT_EQ(did_you_mean("q", {}), "");
}

TEST(Names, Patterns) {
  EXPECT_TRUE(matches_pattern("decoder/*", "decoder/layer.0/MatMul"));
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_TRUE(matches_pattern("a?c*e", "abcde"));
  EXPECT_TRUE(matches_pattern("*b*b*", "abbb"));
  EXPECT_FALSE(matches_pattern("decoder/*", "encoder/x"));
  EXPECT_FALSE(matches_pattern("a", "ab"));
  EXPECT_FALSE(matches_pattern("a?", "a"));
  EXPECT_FALSE(matches_pattern("", "a"));
}

TEST(Names, PatternsTakeLinearTimeForEachStar) {
  EXPECT_FALSE(matches_pattern("*a*a*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

TEST(Names, Lists) {
  EXPECT_EQ(list_names({}), "none");
  EXPECT_EQ(list_names({"a"}), "a");
  EXPECT_EQ(list_names({"a", "b", "c"}), "a, b and c");
}

}  // namespace
}  // namespace gantry
