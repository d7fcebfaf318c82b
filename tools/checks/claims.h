// SPDX-License-Identifier: Apache-2.0
// The rows and refusals of a provider's claim call: copied, compared and validated. Any thread.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "open_provider.h"
#include "test_graph.h"

namespace gantry::checks {

struct TestClaim {
  std::vector<uint32_t> nodes;
  std::vector<uint32_t> input_flags;  ///< by port; empty: no port flags
  std::vector<uint32_t> output_flags;
  uint32_t flags = 0;
  double time_ns = -1;
  uint64_t workspace_bytes = 0;
  std::string kernel;
  uint64_t tag = 0;
  bool operator==(const TestClaim&) const = default;
};

struct TestAnswer {
  std::string error;  ///< "CODE: message"; empty: none
  std::vector<TestClaim> rows;
  std::vector<std::string> refusals;  ///< by node; empty: none given
  bool operator==(const TestAnswer&) const = default;

  /// The first row that claims only `node`; null if there is none.
  [[nodiscard]] const TestClaim* row_of(uint32_t node) const;
};

/// Calls claim once. Throws Failure if a row or a refusal refers to a node that does not exist.
TestAnswer ask(const OpenProvider& provider, const Subject& subject, uint32_t device,
               const gantry_graph* graph);

/// Throws Failure if a node is neither claimed nor refused, or a port or an estimate is invalid.
void expect_sound(const TestAnswer& answer, const gantry_graph* graph);

}  // namespace gantry::checks
