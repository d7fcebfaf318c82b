// SPDX-License-Identifier: Apache-2.0
// As a provider sees it while it compiles.
#include "program/fragment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/error.h"
#include "support/test_program.h"

namespace gantry {
namespace {

using test::TestProgram;
using test::WorkingProvider;
using testing::HasSubstr;

std::string take_message(gantry_error* error) {
  if (!error) return {};
  std::string message(message_of(error));
  release_error(error);
  return message;
}

void append(void* target, const void* data, uint64_t size_bytes) {
  static_cast<std::string*>(target)->append(static_cast<const char*>(data), size_bytes);
}

class FragmentTest : public testing::Test {
 protected:
  // Calls `look` while the node "n" is compiled.
  static void compile(const std::function<void(gantry_fragment*)>& look) {
    WorkingProvider::reset();
    int calls = 0;
    WorkingProvider::behaviours["n"].during_compile = [&](const gantry_compile& args) {
      ++calls;
      look(args.fragment);
    };
    const TestProgram program(
        "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}>"
        " { [n] a = Add(x, w) [r] y = Relu(a) }");
    EXPECT_EQ(calls, 1);
  }
};

TEST_F(FragmentTest, HasTheNodesOfItsClaimAsAModel) {
  compile([](gantry_fragment* fragment) {
    std::string bytes;
    ASSERT_EQ(take_message(host_table().fragment_model(fragment, &bytes, append)), "");
    const auto graph = test::TestModel(bytes)->to_graph();
    ASSERT_EQ(graph->nodes().size(), 1U);
    EXPECT_EQ(graph->nodes()[0]->op_type, "Add");
    EXPECT_EQ(graph->inputs.size(), 1U);  // the constant is no input
    EXPECT_EQ(graph->outputs().size(), 1U);
  });
}

TEST_F(FragmentTest, IsTheSameHoweverOftenItIsAskedFor) {
  compile([](gantry_fragment* fragment) {
    std::string first;
    std::string second;
    ASSERT_EQ(take_message(host_table().fragment_model(fragment, &first, append)), "");
    ASSERT_EQ(take_message(host_table().fragment_model(fragment, &second, append)), "");
    EXPECT_EQ(first, second);
  });
}

TEST_F(FragmentTest, WhatIsNotThereIsAnError) {
  compile([](gantry_fragment* fragment) {
    const void* data = nullptr;
    uint64_t size_bytes = 0;
    const gantry_host& host = host_table();
    EXPECT_THAT(take_message(host.fragment_weight(fragment, 99, &data, &size_bytes)),
                HasSubstr("index 99 is out of range"));
    EXPECT_THAT(take_message(host.fragment_weight(nullptr, 0, &data, &size_bytes)),
                HasSubstr("expected the fragment of the compile call, found null"));
    EXPECT_THAT(take_message(host.fragment_weight(fragment, 0, nullptr, nullptr)),
                HasSubstr("found null"));
    EXPECT_THAT(take_message(host.fragment_model(fragment, nullptr, nullptr)),
                HasSubstr("expected a function to write with, found null"));
  });
}

}  // namespace
}  // namespace gantry
