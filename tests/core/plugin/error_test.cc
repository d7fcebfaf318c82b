// SPDX-License-Identifier: Apache-2.0
#include "plugin/error.h"

#include <new>
#include <stdexcept>

#include "support/expect_error.h"

namespace gantry {
namespace {

TEST(BoundaryError, CarriesCodeAndMessage) {
  gantry_error* error = make_error(Code::kDeviceLost, "the device went away");
  EXPECT_EQ(code_of(error), Code::kDeviceLost);
  EXPECT_EQ(message_of(error), "the device went away");
  release_error(error);
}

TEST(BoundaryError, UnknownCodesBecomeInternal) {
  for (const uint32_t code : {0U, 14U, 0xFFFFFFFFU}) {
    gantry_error* error = make_error(static_cast<Code>(code), "x");
    EXPECT_EQ(code_of(error), Code::kInternal);
    release_error(error);
  }
}

TEST(BoundaryError, NullIsSuccess) {
  throw_if(nullptr, "nothing");
  throw_if(nullptr,
           []() -> std::string { throw std::logic_error("the context is made on failure only"); });
  EXPECT_EQ(code_of(nullptr), Code::kOk);
  EXPECT_EQ(message_of(nullptr), "");
  release_error(nullptr);
}

TEST(BoundaryError, ThrowsWithContext) {
  test::expect_error(Code::kUnsupported, {"provider \"x\": ", "no such thing"}, [] {
    throw_if(make_error(Code::kUnsupported, "no such thing"), "provider \"x\"");
  });
  test::expect_error(Code::kUnsupported, {"made late: ", "no such thing"}, [] {
    throw_if(make_error(Code::kUnsupported, "no such thing"),
             [] { return std::string("made late"); });
  });
}

TEST(BoundaryError, GuardTurnsExceptionsIntoErrors) {
  EXPECT_EQ(guard([] {}), nullptr);
  gantry_error* own = guard([] { throw Error(Code::kNotFound, "gone"); });
  EXPECT_EQ(code_of(own), Code::kNotFound);
  EXPECT_EQ(message_of(own), "gone");
  gantry_error* memory = guard([] { throw std::bad_alloc(); });
  EXPECT_EQ(code_of(memory), Code::kOutOfMemory);
  gantry_error* standard = guard([] { throw std::runtime_error("std"); });
  EXPECT_EQ(code_of(standard), Code::kInternal);
  gantry_error* odd = guard([] { throw 7; });
  EXPECT_EQ(code_of(odd), Code::kInternal);
  for (gantry_error* error : {own, memory, standard, odd}) release_error(error);
}

}  // namespace
}  // namespace gantry
