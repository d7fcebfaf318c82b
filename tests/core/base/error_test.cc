// SPDX-License-Identifier: Apache-2.0
#include <gantry/error.h>

#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <string>

namespace gantry {
namespace {

TEST(Error, ContextStandsInFrontAndKeepsTheCode) {
  const Error inner(Code::kInvalidModel, "the file is empty");
  const Error outer = inner.in("m.onnx");
  EXPECT_EQ(outer.code(), Code::kInvalidModel);
  EXPECT_EQ(outer.message(), "m.onnx: the file is empty");
  EXPECT_STREQ(outer.what(), "m.onnx: the file is empty");
}

TEST(Error, EveryCodeHasAName) {
  std::set<std::string> names;
  for (uint32_t code = 0; code <= 13; ++code) names.insert(to_string(static_cast<Code>(code)));
  EXPECT_EQ(names.size(), 14u);
  EXPECT_STREQ(to_string(Code::kInvalidModel), "INVALID_MODEL");
  EXPECT_STREQ(to_string(static_cast<Code>(999)), "UNKNOWN_CODE");
}

}  // namespace
}  // namespace gantry
