// SPDX-License-Identifier: Apache-2.0
// Operators for checks that need any kernel: common operators with float inputs and a float result,
// one of which almost every provider claims. Pure functions over a table.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "host.h"
#include "test_graph.h"

namespace gantry::checks {

struct ProbeOperator {
  const char* op_type;
  int32_t since_version;
  std::vector<std::vector<int64_t>> inputs;  ///< shapes
  bool has_weights = false;                  ///< all inputs but the first are constants
};

/// In the order in which they are tried.
const std::vector<ProbeOperator>& probe_operators();

/// Inputs of both signs, with elements that are exact in few bits. `has_other_weights` selects a
/// second set of weights.
std::vector<std::shared_ptr<HostValue>> probe_inputs(const ProbeOperator& probe,
                                                     bool has_other_weights = false);

/// A graph of this one operator, in which the weights among `inputs` are constants.
TestGraph probe_graph(const ProbeOperator& probe,
                      const std::vector<std::shared_ptr<HostValue>>& inputs);

}  // namespace gantry::checks
