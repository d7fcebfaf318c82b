// SPDX-License-Identifier: Apache-2.0
// Runs of a model of one node by the provider "crashing", whose first number says what it does.
#pragma once

#include <gantry/gantry.h>

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace gantry::test {

inline const std::string kRelu = "g (float[n] x) => (float[n] y) { [r] y = Relu(x) }";

/// `count` numbers: `first`, which tells the provider what to do, and twos.
inline Inputs input(float first, size_t count = 6) {
  std::vector<float> x(count, 2);
  x[0] = first;
  return {{"x", Tensor({static_cast<int64_t>(count)}, x)}};
}

inline std::vector<float> numbers_of(const Tensor& tensor) {
  const auto elements = tensor.elements<float>();
  return {elements.begin(), elements.end()};
}

/// A run of kRelu ends well, with the right numbers.
inline void expect_good(Session& session, size_t count = 6) {
  const std::vector<Tensor> outputs = session.run(input(1, count));
  std::vector<float> expected(count, 2);
  expected[0] = 1;
  EXPECT_EQ(numbers_of(outputs[0]), expected);
}

}  // namespace gantry::test
