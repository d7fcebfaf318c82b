// SPDX-License-Identifier: Apache-2.0
#include "placement/claim_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/error.h"
#include "support/scripted_provider.h"

namespace gantry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ClaimRowsTest : public testing::Test {
 protected:
  // Three nodes in a chain.
  ClaimRowsTest() : registry_({}, SearchEnvironment{}) {
    candidates_ = ScriptedProvider::candidates(registry_, {"AAA:0"});
    TypeInfo type;
    type.kind = Kind::kTensor;
    type.dtype = DType::kFloat;
    GraphValue* value = graph_.add_value("x", type);
    graph_.inputs = {value};
    for (const char* name : {"a", "b", "c"}) {
      Node* node = graph_.add_node("Op", "", 1, name);
      graph_.add_input(node, value);
      value = graph_.add_value(std::string(name) + "_out", type);
      graph_.add_output(node, value);
    }
    graph_.set_outputs({value});
    graph_.renumber();
  }

  ClaimAnswers ask(const std::function<void(const gantry_claim_request&)>& claims) {
    ScriptedProvider::claims = claims;
    const GraphView view(graph_);
    return ask_claims(candidates_[0], view);
  }

  ProviderRegistry registry_;
  std::vector<Candidate> candidates_;
  Graph graph_;
};

TEST_F(ClaimRowsTest, RowsAreCopiedInTheProvidersOrder) {
  const ClaimAnswers answers = ask([](const gantry_claim_request& request) {
    claim_row(request, {.nodes = {2, 1}, .flags = GANTRY_CLAIM_DIVISIBLE, .time_ns = 5});
    claim(request, {0});
  });
  ASSERT_EQ(answers.rows.size(), 2U);
  EXPECT_THAT(answers.rows[0].nodes, ElementsAre(1, 2));  // ascending
  EXPECT_TRUE(answers.rows[0].divisible);
  EXPECT_EQ(answers.rows[0].time_ns, 5);
  EXPECT_EQ(answers.rows[0].kernel, "scripted");
  EXPECT_EQ(answers.rows[0].fault, "");
  EXPECT_THAT(answers.rows[1].nodes, ElementsAre(0));
}

TEST_F(ClaimRowsTest, RefusalsAreByNode) {
  const ClaimAnswers answers = ask([](const gantry_claim_request& request) {
    request.sink->refuse(request.sink->self, 1, {"too wide", 8});
  });
  EXPECT_THAT(answers.refusals, ElementsAre("", "too wide", ""));
}

TEST_F(ClaimRowsTest, ARowThatIsWrongByItselfSaysWhy) {
  const ClaimAnswers answers = ask([](const gantry_claim_request& request) {
    claim(request, {7});
    claim(request, {1, 1});
    claim(request, {});
  });
  ASSERT_EQ(answers.rows.size(), 3U);
  for (const ClaimRow& row : answers.rows) EXPECT_NE(row.fault, "");
}

TEST_F(ClaimRowsTest, ACallThatFailsRefusesEveryNode) {
  const ClaimAnswers answers = ask([](const gantry_claim_request&) {
    throw Error(Code::kUnavailable, "the compiler is not there");
  });
  EXPECT_TRUE(answers.rows.empty());
  ASSERT_EQ(answers.refusals.size(), 3U);
  for (const std::string& refusal : answers.refusals)
    EXPECT_THAT(refusal, HasSubstr("the compiler is not there"));
}

}  // namespace
}  // namespace gantry
