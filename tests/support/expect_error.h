// SPDX-License-Identifier: Apache-2.0
// Checks that something fails, with the right code and a message that says the right things.
#pragma once

#include <gantry/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace gantry::test {

/// Runs `call`; a test failure unless it throws gantry::Error with `code` and a message that
/// contains every one of `parts`.
template <class Call>
void expect_error(Code code, const std::vector<std::string>& parts, Call&& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected " << to_string(code);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << to_string(error.code()) << ": " << error.what();
    for (const std::string& part : parts) EXPECT_THAT(error.message(), testing::HasSubstr(part));
  }
}

}  // namespace gantry::test
