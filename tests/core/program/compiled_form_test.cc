// SPDX-License-Identifier: Apache-2.0
#include "program/compiled_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_program.h"

namespace gantry {
namespace {

using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kModel = "g (float[4] x) => (float[4] y) { [n] a = Neg(x) [r] y = Relu(a) }";

class CompiledFormTest : public testing::Test {
 protected:
  CompiledFormTest() { WorkingProvider::reset(); }
};

TEST_F(CompiledFormTest, WhatAKernelHandsOutIsKept) {
  WorkingProvider::behaviours["n"].form = "form of n";
  Artefact artefact(nullptr);
  BuildOptions options;
  options.artefact = &artefact;
  const TestProgram program(kModel, {"HST"}, {}, options);
  const std::vector<ArtefactPart> parts = artefact.parts();
  ASSERT_EQ(parts.size(), 1U);  // the other kernel hands out nothing
  EXPECT_EQ(
      std::string(reinterpret_cast<const char*>(parts[0].bytes.data()), parts[0].bytes.size()),
      "form of n");
  EXPECT_THAT(WorkingProvider::blobs, ElementsAre("", ""));
}

// Each part's name.
std::vector<std::string> names_of(const std::string& model, const std::string& device = "HST") {
  Artefact artefact(nullptr);
  BuildOptions options;
  options.artefact = &artefact;
  const TestProgram program(model, {device}, {}, options);
  std::vector<std::string> names;
  for (const ArtefactPart& part : artefact.parts()) names.push_back(part.name);
  return names;
}

TEST_F(CompiledFormTest, AClaimHasTheSameNameInEachStartAndAnotherOneElsewhere) {
  WorkingProvider::behaviours["n"].form = "form of n";
  const std::vector<std::string> names = names_of(kModel);
  EXPECT_EQ(names_of(kModel), names);
  EXPECT_NE(names_of(kModel, "MEM:0"), names);
}

TEST_F(CompiledFormTest, ClaimsOfOneModelHaveNamesOfTheirOwn) {
  WorkingProvider::behaviours["Neg"].form = "form of a Neg";
  const std::vector<std::string> names =
      names_of("g (float[4] x) => (float[4] y) { [n] a = Neg(x) [m] y = Neg(a) }");
  ASSERT_EQ(names.size(), 2U);
  EXPECT_NE(names[0], names[1]);
}

TEST_F(CompiledFormTest, WithoutAnArtefactNothingIsAsked) {
  WorkingProvider::behaviours["n"].form = "form of n";
  const TestProgram program(kModel);
  EXPECT_THAT(WorkingProvider::blobs, ElementsAre("", ""));
}

}  // namespace
}  // namespace gantry
